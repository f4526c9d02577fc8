#include "findings.h"

#include <algorithm>
#include <sstream>

#include "terminal_text.h"
#include "text_table.h"

namespace veneer::cli {
namespace {

constexpr size_t kMostOfACell = 60;
constexpr size_t kMostOfAMessage = 160;
constexpr size_t kShownAllowed = 8;

std::string listed(const std::vector<std::string>& values) {
  std::string out;
  for (size_t i = 0; i < std::min(values.size(), kShownAllowed); ++i) out += (i == 0 ? "" : " | ") + printable(values[i], kMostOfAMessage);
  if (values.size() > kShownAllowed) out += " | ... (" + std::to_string(values.size()) + ")";
  return out;
}

// Below the row, so that rows stay narrow.
std::string details_of(const WorkflowFinding& finding) {
  std::string out;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) out += std::string("         ") + name + text + "\n";
  };
  add("value:   ", printable(finding.value, kMostOfAMessage));
  add("nearest: ", listed(finding.nearest));
  add("allowed: ", listed(finding.allowed));
  return out;
}

}  // namespace

const char* word_of(WorkflowFinding::Severity severity) {
  switch (severity) {
    case WorkflowFinding::Severity::error: return "error";
    case WorkflowFinding::Severity::warning: return "warning";
    case WorkflowFinding::Severity::note: break;
  }
  return "note";
}

nlohmann::ordered_json to_json(const std::vector<WorkflowFinding>& findings) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const WorkflowFinding& finding : findings) {
    nlohmann::ordered_json entry = {{"severity", word_of(finding.severity)}, {"node", finding.node}, {"class_type", finding.class_type}};
    entry["input"] = finding.input;
    entry["rule"] = finding.rule;
    entry["message"] = finding.message;
    // Values are JSON already; one that no reader would take, such as NaN, stays a text.
    auto value = nlohmann::ordered_json::parse(finding.value, nullptr, false);
    entry["value"] = finding.value.empty()  ? nlohmann::ordered_json()
                     : value.is_discarded() ? nlohmann::ordered_json(finding.value)
                                            : std::move(value);
    entry["allowed"] = finding.allowed;
    entry["nearest"] = finding.nearest;
    out.push_back(std::move(entry));
  }
  return out;
}

void print_findings(const std::vector<WorkflowFinding>& findings, std::FILE* out) {
  if (findings.empty()) return;
  TextTable table(std::vector<TextTable::Align>(5, TextTable::Align::left));
  table.add({"", "node", "input", "rule", "what"});
  for (const WorkflowFinding& finding : findings) {
    std::string node = printable(finding.node, kMostOfACell);
    if (!finding.class_type.empty()) node += " " + printable(finding.class_type, kMostOfACell);
    table.add({word_of(finding.severity), node, printable(finding.input, kMostOfACell), finding.rule, printable(finding.message, kMostOfAMessage)});
  }
  std::istringstream rows(table.text());
  std::string row;
  std::getline(rows, row);
  std::fprintf(out, "%s\n", row.c_str());
  for (const WorkflowFinding& finding : findings) {
    std::getline(rows, row);
    std::fprintf(out, "%s\n%s", row.c_str(), details_of(finding).c_str());
  }
}

size_t count_errors(const std::vector<WorkflowFinding>& findings) {
  return static_cast<size_t>(std::ranges::count(findings, WorkflowFinding::Severity::error, &WorkflowFinding::severity));
}

}  // namespace veneer::cli
