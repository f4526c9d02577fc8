#include "engine/stand_ins.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/prompt.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr size_t kMostOutputs = 1000;
// Classes for which names that are near are looked for: that takes a while for each.
constexpr size_t kMostSuggested = 500;

std::string class_of(const Json& node) {
  const auto class_type = node.is_object() ? node.find("class_type") : node.end();
  return class_type != node.end() && class_type->is_string() ? class_type->get<std::string>() : std::string();
}

// Unknown class -> outputs that links name.
std::map<std::string, size_t> unknown_classes(const Json& prompt, const graph::NodeRegistry& nodes) {
  std::map<std::string, size_t> outputs;
  std::unordered_map<std::string_view, std::string> unknown;  // node -> its class
  for (const auto& [id, node] : prompt.get_ref<const Json::object_t&>()) {
    std::string name = class_of(node);
    if (name.empty() || nodes.find(name) != nullptr) continue;
    outputs.emplace(name, 0);
    unknown.emplace(id, std::move(name));
  }
  if (unknown.empty()) return outputs;
  for (const Json& node : prompt) {
    const auto inputs = node.is_object() ? node.find("inputs") : node.end();
    if (inputs == node.end() || !inputs->is_object()) continue;
    for (const Json& value : *inputs) {
      const std::optional<graph::Link> link = graph::as_link(value);
      const auto source = link && link->slot >= 0 ? unknown.find(link->node_id) : unknown.end();
      if (source == unknown.end()) continue;
      size_t& count = outputs.at(source->second);
      count = std::min(std::max(count, static_cast<size_t>(link->slot) + 1), kMostOutputs);
    }
  }
  return outputs;
}

}  // namespace

StandIns with_stand_ins(const Json& prompt, const graph::NodeRegistry& nodes, bool all_outputs) {
  StandIns out;
  for (const graph::NodeDef* def : nodes.all()) {
    graph::NodeDef copy = *def;
    copy.output_node = copy.output_node || all_outputs;
    out.nodes.add(std::move(copy));
  }
  if (!prompt.is_object()) return out;
  for (const auto& [name, count] : unknown_classes(prompt, nodes)) {
    out.unknown[name] = out.unknown.size() < kMostSuggested ? nodes.nearest(name) : std::vector<std::string>();
    graph::NodeDef stand_in;
    stand_in.class_type = name;
    stand_in.output_node = all_outputs;
    stand_in.outputs.assign(count, {"", "*", false, ""});
    stand_in.run = [](graph::NodeContext&, const graph::Inputs&) -> graph::NodeResult { return {}; };
    out.nodes.add(std::move(stand_in));
  }
  return out;
}

}  // namespace veneer::engine
