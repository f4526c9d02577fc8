#include "graph/editor/editor_graph.h"

#include <utility>

#include "veneer/error.h"

namespace veneer::graph {
namespace {

constexpr size_t kMaxSlot = 100'000;
constexpr int kMutedMode = 2;
constexpr int kBypassedMode = 4;

const Json* member(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

std::string text_member(const Json& object, const char* name) {
  const Json* value = member(object, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

// Ids are numbers, or texts.
std::optional<std::string> id_of(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  if (value->is_number_integer()) return value->dump();
  return std::nullopt;
}

std::optional<size_t> slot_of(const Json* value) {
  if (value == nullptr) return std::nullopt;
  // Some writers put slots in quotes.
  if (value->is_string() && value->get_ref<const std::string&>().size() == 1) {
    const char digit = value->get_ref<const std::string&>()[0];
    if (digit >= '0' && digit <= '9') return static_cast<size_t>(digit - '0');
  }
  if (!value->is_number_integer()) return std::nullopt;
  if (!value->is_number_unsigned() && value->get<int64_t>() < 0) return std::nullopt;
  const auto slot = value->get<uint64_t>();
  return slot <= kMaxSlot ? std::optional<size_t>(slot) : std::nullopt;
}

// Types are texts; 0 is an old way to write "*", and a list is that of a choice.
std::string type_of(const Json& slot) {
  const Json* type = member(slot, "type");
  if (type == nullptr || type->is_number() || type->is_null()) return "*";
  if (type->is_string()) return type->get<std::string>();
  return type->is_array() ? "COMBO" : "*";
}

EditorSlot read_slot(const Json& json) {
  EditorSlot slot;
  if (!json.is_object()) return slot;
  slot.name = text_member(json, "name");
  slot.type = type_of(json);
  slot.link = id_of(member(json, "link"));
  const Json* widget = member(json, "widget");
  if (widget != nullptr && widget->is_object()) slot.widget = text_member(*widget, "name");
  return slot;
}

std::vector<EditorSlot> read_slots(const Json& object, const char* name) {
  std::vector<EditorSlot> slots;
  const Json* list = member(object, name);
  if (list == nullptr || !list->is_array()) return slots;
  if (list->size() > kMaxSlot) throw Error(ErrorCode::invalid, "workflow: a node has too many slots", {{"limit", std::to_string(kMaxSlot)}});
  slots.reserve(list->size());
  for (const Json& slot : *list) slots.push_back(read_slot(slot));
  return slots;
}

EditorMode mode_of(const Json& node) {
  const Json* mode = member(node, "mode");
  if (mode == nullptr || !mode->is_number_integer()) return EditorMode::active;
  if (*mode == kMutedMode) return EditorMode::muted;
  return *mode == kBypassedMode ? EditorMode::bypassed : EditorMode::active;
}

EditorNode read_node(const Json& json, const std::string& where) {
  if (!json.is_object()) throw Error(ErrorCode::invalid, "workflow: a node is not an object", {{"graph", where}});
  const std::optional<std::string> id = id_of(member(json, "id"));
  if (!id) throw Error(ErrorCode::invalid, "workflow: a node has no id", {{"graph", where}, {"type", text_member(json, "type")}});
  EditorNode node;
  node.id = *id;
  node.type = text_member(json, "type");
  if (node.type.empty()) throw Error(ErrorCode::invalid, "workflow: a node has no type", {{"graph", where}, {"node", *id}});
  node.title = text_member(json, "title");
  node.mode = mode_of(json);
  node.inputs = read_slots(json, "inputs");
  node.outputs = read_slots(json, "outputs");
  node.json = &json;
  return node;
}

// [id, origin, slot, target, slot, type] or {"id", "origin_id", ...}. Null stands for a link that was removed.
void read_link(const Json& json, const std::string& where, EditorGraph& graph) {
  if (json.is_null()) return;
  const auto part = [&](size_t index, const char* name) -> const Json* {
    if (json.is_object()) return member(json, name);
    return json.is_array() && index < json.size() ? &json[index] : nullptr;
  };
  const std::optional<std::string> id = id_of(part(0, "id"));
  const std::optional<std::string> origin = id_of(part(1, "origin_id"));
  const std::optional<std::string> target = id_of(part(3, "target_id"));
  const std::optional<size_t> origin_slot = slot_of(part(2, "origin_slot"));
  const std::optional<size_t> target_slot = slot_of(part(4, "target_slot"));
  if (!id || !origin || !target || !origin_slot || !target_slot) {
    throw Error(ErrorCode::invalid, "workflow: a link is not [id, origin, slot, target, slot, type]", {{"graph", where}, {"link", id.value_or("?")}});
  }
  graph.links[*id] = {*origin, *origin_slot, *target, *target_slot};
}

void read_graph(const Json& json, const std::string& where, const PromptLimits& limits, EditorGraph& graph) {
  const Json* nodes = member(json, "nodes");
  if (nodes == nullptr || !nodes->is_array()) throw Error(ErrorCode::invalid, "workflow: there is no list of nodes", {{"graph", where}});
  if (nodes->size() > limits.max_nodes) {
    throw Error(ErrorCode::invalid, "workflow: there are too many nodes", {{"graph", where}, {"limit", std::to_string(limits.max_nodes)}});
  }
  for (const Json& node : *nodes) {
    EditorNode read = read_node(node, where);
    if (!graph.index.emplace(read.id, graph.nodes.size()).second) {
      throw Error(ErrorCode::invalid, "workflow: a node id occurs twice", {{"graph", where}, {"node", read.id}});
    }
    graph.nodes.push_back(std::move(read));
  }
  const Json* links = member(json, "links");
  if (links == nullptr || !links->is_structured()) return;
  for (const Json& link : *links) read_link(link, where, graph);
}

std::string boundary_id(const Json& definition, const char* name, const char* usual) {
  const Json* node = member(definition, name);
  return node != nullptr && node->is_object() ? id_of(member(*node, "id")).value_or(usual) : usual;
}

EditorGraph read_subgraph(const Json& definition, const std::string& id, const PromptLimits& limits) {
  EditorGraph graph;
  graph.name = text_member(definition, "name");
  read_graph(definition, "subgraph " + (graph.name.empty() ? id : graph.name), limits, graph);
  graph.inputs = read_slots(definition, "inputs");
  graph.outputs = read_slots(definition, "outputs");
  graph.input_node = boundary_id(definition, "inputNode", "-10");
  graph.output_node = boundary_id(definition, "outputNode", "-20");
  for (const auto& [link_id, link] : graph.links) {
    if (link.target == graph.output_node && link.target_slot < graph.outputs.size()) graph.outputs[link.target_slot].link = link_id;
  }
  return graph;
}

}  // namespace

const EditorNode* EditorGraph::find(const std::string& id) const {
  const auto it = index.find(id);
  return it == index.end() ? nullptr : &nodes[it->second];
}

EditorWorkflow read_editor_workflow(const Json& json, const PromptLimits& limits) {
  if (!json.is_object()) throw Error(ErrorCode::invalid, "workflow: not an object");
  EditorWorkflow workflow;
  read_graph(json, "workflow", limits, workflow.root);
  const Json* definitions = member(json, "definitions");
  const Json* list = definitions != nullptr && definitions->is_object() ? member(*definitions, "subgraphs") : nullptr;
  if (list == nullptr || !list->is_array()) return workflow;
  for (const Json& definition : *list) {
    const std::optional<std::string> id = definition.is_object() ? id_of(member(definition, "id")) : std::nullopt;
    if (!id) throw Error(ErrorCode::invalid, "workflow: the definition of a subgraph has no id");
    if (!workflow.subgraphs.emplace(*id, read_subgraph(definition, *id, limits)).second) {
      throw Error(ErrorCode::invalid, "workflow: a subgraph is defined twice", {{"subgraph", *id}});
    }
  }
  return workflow;
}

}  // namespace veneer::graph
