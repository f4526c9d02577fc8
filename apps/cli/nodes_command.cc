#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "engine_flags.h"
#include "error_report.h"
#include "plugin_report.h"
#include "terminal_text.h"

namespace veneer::cli {
namespace {

struct NodesOptions {
  EngineFlags flags;
  std::string class_type;
};

nlohmann::ordered_json to_json(const NodeInfo& node) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array();
  for (const InputInfo& input : node.inputs) {
    inputs.push_back({{"name", input.name}, {"type", input.type}, {"required", input.required}, {"detail", input.detail}});
  }
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (const auto& [name, type] : node.outputs) outputs.push_back({{"name", name}, {"type", type}});
  return {{"class_type", node.class_type},   {"display_name", node.display_name}, {"category", node.category},
          {"description", node.description}, {"inputs", std::move(inputs)},       {"outputs", std::move(outputs)}};
}

constexpr size_t kLineWidth = 110;

// Breaks the text at spaces; all lines but the first begin with `indent` spaces.
std::string wrapped(const std::string& text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    const size_t length = end - begin;
    if (column > indent && column + 1 + length > kLineWidth) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out.append(text, begin, length);
    column += length;
    begin = end + 1;
  }
  return out;
}

void print_row(const std::string& name, const std::string& type, const std::string& detail) {
  char columns[80];
  const int width = std::snprintf(columns, sizeof columns, detail.empty() ? "  %-24s %s" : "  %-24s %-13s ", name.c_str(), type.c_str());
  std::printf("%s%s\n", columns, wrapped(detail, static_cast<size_t>(width)).c_str());
}

void print_one(const NodeInfo& node) {
  std::printf("%s", node.class_type.c_str());
  if (node.display_name != node.class_type) std::printf(" (%s)", node.display_name.c_str());
  std::printf(", category %s\n", node.category.c_str());
  if (!node.description.empty()) std::printf("%s\n", wrapped(node.description, 0).c_str());
  std::printf("inputs:\n");
  for (const InputInfo& input : node.inputs) {
    const std::string optional = input.required ? "" : input.detail.empty() ? "optional" : "optional, ";
    print_row(input.name, input.type, optional + printable(input.detail));  // names of files are in it
  }
  if (!node.outputs.empty()) std::printf("outputs:\n");
  for (const auto& [name, type] : node.outputs) print_row(name, type, "");
}

int print_nodes(const NodesOptions& options) {
  const Engine engine(options.flags.options);
  report_refused(engine.plugins());
  const std::vector<NodeInfo> nodes = options.class_type.empty() ? engine.nodes() : std::vector{engine.node(options.class_type)};
  if (options.flags.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const NodeInfo& node : nodes) out.push_back(to_json(node));
    print_json(out);
  } else if (!options.class_type.empty()) {
    print_one(nodes.front());
  } else {
    for (const NodeInfo& node : nodes) std::printf("%-30s %-28s %s\n", node.class_type.c_str(), node.category.c_str(), node.display_name.c_str());
  }
  return 0;
}

}  // namespace

Command add_nodes_command(CLI::App& app) {
  auto options = std::make_shared<NodesOptions>();
  CLI::App* sub = app.add_subcommand("nodes", "list the nodes that workflows may use, or one with its inputs and outputs");
  sub->add_option("class", options->class_type, "node class, e.g. KSampler");
  options->flags.add_to(*sub);
  sub->footer("example: veneer nodes KSampler");
  return {sub, [options] { return print_nodes(*options); }};
}

}  // namespace veneer::cli
