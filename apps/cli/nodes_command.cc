#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.h"
#include "engine_flags.h"

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
  return {{"class_type", node.class_type}, {"display_name", node.display_name}, {"category", node.category}, {"description", node.description},
          {"inputs", std::move(inputs)},   {"outputs", std::move(outputs)}};
}

void print_one(const NodeInfo& node) {
  std::printf("%s (%s), category %s\n", node.class_type.c_str(), node.display_name.c_str(), node.category.c_str());
  if (!node.description.empty()) std::printf("%s\n", node.description.c_str());
  std::printf("inputs:\n");
  for (const InputInfo& input : node.inputs) {
    std::printf("  %-18s %-13s %-9s%s%s\n", input.name.c_str(), input.type.c_str(), input.required ? "required" : "optional", input.detail.empty() ? "" : " ",
                input.detail.c_str());
  }
  std::printf("outputs:\n");
  for (const auto& [name, type] : node.outputs) std::printf("  %-18s %s\n", name.c_str(), type.c_str());
}

int print_nodes(const NodesOptions& options) {
  const Engine engine(options.flags.options);
  std::vector<NodeInfo> nodes = engine.nodes();
  if (!options.class_type.empty()) {
    std::erase_if(nodes, [&](const NodeInfo& node) { return node.class_type != options.class_type; });
    if (nodes.empty()) throw Error(ErrorCode::not_found, "no such node class", {{"class", options.class_type}, {"list", "veneer nodes"}});
  }
  if (options.flags.json) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const NodeInfo& node : nodes) out.push_back(to_json(node));
    std::printf("%s\n", out.dump(2).c_str());
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
