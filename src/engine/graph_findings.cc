#include "engine/graph_findings.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "engine/fault_details.h"
#include "engine/stand_ins.h"
#include "engine/workflow_findings.h"
#include "graph/validation.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;
using Severity = WorkflowFinding::Severity;

// Values for which names that are near are looked for: that takes a while for each.
constexpr size_t kMostSuggested = 500;

// The links of a node's inputs, of whatever class.
template <typename Use>
void each_link(const Json& node, Use use) {
  const auto inputs = node.find("inputs");
  if (inputs == node.end() || !inputs->is_object()) return;
  for (const Json& value : *inputs) {
    if (const std::optional<graph::Link> link = graph::as_link(value)) use(*link);
  }
}

// Ids of the nodes that some output needs.
std::unordered_map<std::string, bool> needed_nodes(const graph::Prompt& prompt, const graph::NodeRegistry& nodes, bool& has_output) {
  std::vector<std::string> open;
  for (const graph::PromptNode& node : prompt.nodes()) {
    const graph::NodeDef* def = nodes.find(node.class_type);
    if (def != nullptr && def->output_node) open.push_back(node.id);
  }
  has_output = !open.empty();
  std::unordered_map<std::string, bool> needed;
  while (!open.empty()) {
    const std::string id = std::move(open.back());
    open.pop_back();
    const graph::PromptNode* node = prompt.find(id);
    if (node == nullptr || !needed.emplace(id, true).second) continue;
    each_link(node->members, [&](const graph::Link& link) { open.push_back(link.node_id); });
  }
  return needed;
}

class FaultWords {
 public:
  FaultWords(const graph::Validation& validation, const graph::NodeRegistry& nodes, const graph::Environment& environment)
      : validation_(validation), nodes_(nodes), environment_(environment) {}

  WorkflowFinding finding(const std::string& id, const std::string& class_type, const Json& fault) {
    const Json& extra = fault.at("extra_info");
    const graph::PromptNode* node = validation_.prompt.find(id);
    const graph::NodeDef* def = nodes_.find(class_type);
    WorkflowFinding out;
    out.node = id;
    out.class_type = class_type;
    out.rule = text_of(fault.at("type"));
    out.message = text_of(fault.at("message"));
    out.input = extra.contains("input_name") ? text_of(extra.at("input_name")) : "";
    if (out.rule.starts_with("exception_during")) {
      describe_exception(out, fault, node, def);
      return out;
    }
    const Json value = value_of(extra, node, out.input);
    if (!value.is_null()) out.value = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    const std::string details = text_of(fault.at("details"));
    if (!details.empty() && details != out.input && out.rule != "value_not_in_list") out.message += ": " + details;
    const graph::InputDef* input = def == nullptr ? nullptr : def->input(out.input);
    if (input != nullptr && input->is_choice()) {
      add_choices(out, *input, value);
    } else if (input != nullptr) {
      out.allowed = {range_of(*input)};
    }
    return out;
  }

 private:
  // Python's words ("tuple index out of range") say little.
  void describe_exception(WorkflowFinding& out, const Json& fault, const graph::PromptNode* node, const graph::NodeDef* def) const {
    const std::optional<BrokenLink> broken = node != nullptr && def != nullptr ? broken_link(*node, *def, validation_.prompt, nodes_) : std::nullopt;
    if (!broken) {
      out.rule = "cannot_be_checked";
      out.message = "the inputs of the node cannot be checked: " + text_of(fault.at("details"));
      return;
    }
    out.rule = "broken_link";
    out.message = broken->text;
    out.input = broken->input;
    out.value = broken->link.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!broken->outputs.empty()) out.allowed = {broken->outputs};
  }

  const std::vector<std::string>& options_of(const graph::InputDef& input) {
    const auto known = options_.find(&input);
    if (known != options_.end()) return known->second;
    std::vector<std::string> options;
    try {
      options = input.current_options(environment_);
    } catch (const Error&) {
      options.clear();  // the fault says so
    }
    return options_[&input] = std::move(options);
  }

  void add_choices(WorkflowFinding& out, const graph::InputDef& input, const Json& value) {
    const std::vector<std::string>& options = options_of(input);
    out.allowed.assign(options.begin(), options.begin() + static_cast<std::ptrdiff_t>(std::min(options.size(), kMostAllowed)));
    if (!value.is_string()) return;
    const auto key = std::pair(&input, value.get<std::string>());
    auto known = nearest_.find(key);
    if (known == nearest_.end()) {
      const bool many = nearest_.size() >= kMostSuggested;
      known = nearest_.emplace(key, many ? std::vector<std::string>() : nearest_options(key.second, options)).first;
    }
    out.nearest = known->second;
    const auto same = std::ranges::find_if(options, [&](const std::string& option) { return differs_by_case(option, key.second); });
    if (same == options.end()) return;
    out.rule = "name_case";
    out.message = "the name differs from the file's in upper and lower case";
    out.nearest = {*same};
  }

  static bool differs_by_case(std::string_view a, std::string_view b) {
    const auto folded = [](char c) { return c == '\\' ? '/' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, folded, folded);
  }

  const graph::Validation& validation_;
  const graph::NodeRegistry& nodes_;
  const graph::Environment& environment_;
  std::unordered_map<const graph::InputDef*, std::vector<std::string>> options_;
  std::map<std::pair<const graph::InputDef*, std::string>, std::vector<std::string>> nearest_;
};

void add_node_faults(const graph::Validation& validation, FaultWords& words, const StandIns& checking,
                     const std::unordered_map<std::string, bool>& needed, std::vector<WorkflowFinding>& out) {
  for (const auto& [id, node] : validation.node_errors.get_ref<const Json::object_t&>()) {
    const std::string class_type = text_of(node.at("class_type"));
    if (checking.unknown.contains(class_type)) continue;
    for (const Json& fault : node.at("errors")) {
      if (out.size() >= kMostFindings) return;
      WorkflowFinding finding = words.finding(id, class_type, fault);
      if (!needed.contains(id)) finding.severity = Severity::warning;
      out.push_back(std::move(finding));
    }
  }
}

}  // namespace

std::vector<WorkflowFinding> graph_findings(const Json& prompt, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                                            bool strict) {
  std::vector<WorkflowFinding> out;
  const auto whole = [&](std::string rule, std::string message) {
    WorkflowFinding finding;
    finding.rule = std::move(rule);
    finding.message = std::move(message);
    out.push_back(std::move(finding));
  };
  const StandIns checking = with_stand_ins(prompt, nodes, true);
  graph::ValidationOptions options;
  options.strict = strict;
  options.terse = true;
  const graph::Validation validation = graph::validate_prompt(prompt, checking.nodes, environment, options);
  if (!validation.ok() && validation.prompt.size() == 0) {
    whole(text_of(validation.error.at("type")), text_of(validation.error.at("message")) + " " + text_of(validation.error.at("details")));
    return out;
  }
  for (const graph::PromptNode& node : validation.prompt.nodes()) {
    const auto unknown = checking.unknown.find(node.class_type);
    if (unknown == checking.unknown.end()) continue;
    out.push_back(
        {Severity::error, node.id, node.class_type, "", "unknown_class", "there is no node class of that name here", "", {}, unknown->second});
  }
  bool has_output = false;
  const std::unordered_map<std::string, bool> needed = needed_nodes(validation.prompt, nodes, has_output);
  if (!has_output) whole("prompt_no_outputs", "the workflow has no output: nothing in it saves or shows a result");
  for (const std::vector<std::string>& cycle : validation.cycles) {
    WorkflowFinding finding;
    finding.node = cycle.front();
    finding.class_type = validation.prompt.find(cycle.front())->class_type;
    finding.rule = "cycle";
    finding.message = "links lead round in a circle: " + join(cycle, " -> ");
    out.push_back(std::move(finding));
  }
  FaultWords words(validation, checking.nodes, environment);
  add_node_faults(validation, words, checking, needed, out);
  if (has_output) {
    for (const graph::PromptNode& node : validation.prompt.nodes()) {
      if (needed.contains(node.id)) continue;
      out.push_back({Severity::note, node.id, node.class_type, "", "unused", "no output needs this node: it does not run", "", {}, {}});
    }
  }
  return out;
}

}  // namespace veneer::engine
