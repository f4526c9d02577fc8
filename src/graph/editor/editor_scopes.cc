#include "graph/editor/editor_scopes.h"

#include <algorithm>

#include "veneer/error.h"

namespace veneer::graph {
namespace {

// Nested subgraphs that people draw are a handful deep; a prompt's ids grow with each level.
constexpr size_t kMaxDepth = 64;

const Json* member(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

bool is_widget_type(const std::string& type) { return type == "INT" || type == "FLOAT" || type == "STRING" || type == "BOOLEAN" || type == "COMBO"; }

// The inputs of a subgraph whose values the instance's widgets show: those that lead to a widget inside.
std::vector<std::string> promoted_inputs(const EditorGraph& graph, const EditorNode& instance) {
  std::vector<bool> seen(graph.inputs.size(), false);
  std::vector<bool> linked(graph.inputs.size(), false);
  for (const auto& [id, link] : graph.links) {
    if (link.origin != graph.input_node || link.origin_slot >= seen.size()) continue;
    linked[link.origin_slot] = true;
    const EditorNode* target = graph.find(link.target);
    if (target != nullptr && link.target_slot < target->inputs.size() && !target->inputs[link.target_slot].widget.empty())
      seen[link.origin_slot] = true;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const EditorSlot& input = graph.inputs[i];
    const bool on_instance =
        std::ranges::any_of(instance.inputs, [&](const EditorSlot& slot) { return slot.name == input.name && !slot.widget.empty(); });
    if (seen[i] || on_instance || (!linked[i] && is_widget_type(input.type))) names.push_back(input.name);
  }
  return names;
}

// ["-1", "text"] in "proxyWidgets" is the instance's own widget, whose value is at the same place of the list; other entries show a widget of a node
// inside, which keeps the value itself.
void take_proxies(const Json& proxies, const Json& values, EditorScope& scope) {
  for (size_t i = 0; i < std::min(proxies.size(), values.size()); ++i) {
    const Json& entry = proxies[i];
    if (!entry.is_array() || entry.size() < 2 || !entry[1].is_string() || values[i].is_null()) continue;
    if (entry[0] == "-1" || entry[0] == -1) scope.promoted[entry[1].get<std::string>()] = &values[i];
  }
}

void find_promoted(const EditorNode& instance, EditorScope& scope, const std::string& id, std::vector<EditorRemark>& remarks) {
  const Json* named = member(*instance.json, "widgets_values_named");
  const Json* values = member(*instance.json, "widgets_values");
  const Json* properties = member(*instance.json, "properties");
  const Json* proxies = properties != nullptr && properties->is_object() ? member(*properties, "proxyWidgets") : nullptr;
  const Json* object = named != nullptr && named->is_object() ? named : values;
  if (object != nullptr && object->is_object()) {
    for (const auto& [name, value] : object->items()) scope.promoted[name] = &value;
  } else if (values != nullptr && values->is_array() && proxies != nullptr && proxies->is_array()) {
    take_proxies(*proxies, *values, scope);
  } else if (values != nullptr && values->is_array() && !values->empty()) {
    const std::vector<std::string> names = promoted_inputs(*scope.graph, instance);
    if (names.size() == values->size()) {
      for (size_t i = 0; i < names.size(); ++i) scope.promoted[names[i]] = &(*values)[i];
    } else {
      remarks.push_back({id, scope.graph->name, "", "unmapped_values",
                         "the subgraph shows " + std::to_string(names.size()) + " widgets and " + std::to_string(values->size()) +
                             " values are saved: the values inside of it are used",
                         true});
    }
  }
}

size_t depth_of(const std::vector<EditorScope>& scopes, uint32_t scope) {
  size_t depth = 0;
  for (; scopes[scope].parent != EditorScope::kNone; scope = scopes[scope].parent) ++depth;
  return depth;
}

void refuse_recursion(const std::vector<EditorScope>& scopes, uint32_t scope, const EditorGraph& graph, const std::string& id) {
  for (uint32_t at = scope; at != EditorScope::kNone; at = scopes[at].parent) {
    if (scopes[at].graph == &graph) {
      throw Error(ErrorCode::invalid, "workflow: a subgraph contains itself", {{"node", id}, {"subgraph", graph.name}});
    }
  }
  if (depth_of(scopes, scope) >= kMaxDepth) {
    throw Error(ErrorCode::invalid, "workflow: subgraphs are nested too deeply", {{"node", id}, {"limit", std::to_string(kMaxDepth)}});
  }
}

}  // namespace

std::vector<EditorScope> open_scopes(const EditorWorkflow& workflow, const PromptLimits& limits, std::vector<EditorRemark>& remarks) {
  std::vector<EditorScope> scopes(1);
  scopes[0].graph = &workflow.root;
  size_t nodes = workflow.root.nodes.size();
  for (uint32_t scope = 0; scope < scopes.size(); ++scope) {
    const EditorGraph& graph = *scopes[scope].graph;
    for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
      const EditorNode& node = graph.nodes[i];
      const auto definition = workflow.subgraphs.find(node.type);
      if (definition == workflow.subgraphs.end() || node.mode != EditorMode::active) continue;
      const std::string id = scopes[scope].prefix + node.id;
      refuse_recursion(scopes, scope, definition->second, id);
      // An empty subgraph counts too, so that instances of it are bounded.
      nodes += definition->second.nodes.size() + 1;
      if (nodes > limits.max_nodes) {
        throw Error(ErrorCode::invalid, "workflow: there are too many nodes in its subgraphs", {{"limit", std::to_string(limits.max_nodes)}});
      }
      EditorScope child;
      child.graph = &definition->second;
      child.prefix = id + ":";
      child.parent = scope;
      child.instance = i;
      find_promoted(node, child, id, remarks);
      scopes[scope].children[i] = static_cast<uint32_t>(scopes.size());
      scopes.push_back(std::move(child));
    }
  }
  return scopes;
}

}  // namespace veneer::graph
