#include "graph/editor/editor_tracer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "graph/node_check.h"

namespace veneer::graph {
namespace {

constexpr std::string_view kReroute = "Reroute";
constexpr std::string_view kPrimitive = "PrimitiveNode";

EditorSource nothing(std::string_view reason) { return {EditorSource::Kind::nothing, 0, 0, 0, nullptr, reason}; }

const Json* value_of_primitive(const EditorNode& node) {
  const auto values = node.json->find("widgets_values");
  if (values == node.json->end()) return nullptr;
  if (values->is_array()) return values->empty() ? nullptr : &values->front();
  if (!values->is_object()) return nullptr;
  const auto value = values->find("value");
  return value == values->end() ? nullptr : &*value;
}

// The input whose value a bypassed node passes on as its output `slot`: the one beside it if the types fit, else the first that fits.
std::optional<size_t> passed_on(const EditorNode& node, size_t slot) {
  const std::string type = slot < node.outputs.size() ? node.outputs[slot].type : "*";
  if (slot < node.inputs.size() && types_fit(node.inputs[slot].type, type)) return slot;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (types_fit(node.inputs[i].type, type)) return i;
  }
  return std::nullopt;
}

}  // namespace

bool is_editor_only(std::string_view type) {
  constexpr std::array<std::string_view, 4> kTypes = {kReroute, kPrimitive, "Note", "MarkdownNote"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

size_t EditorTracer::AtHash::operator()(const At& at) const {
  const size_t where = (static_cast<size_t>(at.scope) << 32U) ^ at.node;
  return std::hash<size_t>{}(where)*31 + std::hash<size_t>{}(at.slot * 3 + static_cast<size_t>(at.place));
}

EditorSource EditorTracer::input(uint32_t scope, uint32_t node, size_t slot) {
  std::vector<At> path;
  At at{Place::input, scope, node, slot};
  EditorSource source;
  while (true) {
    const auto known = known_.find(at);
    if (known != known_.end()) {
      source = known->second;
      break;
    }
    // Found again before it is resolved: links that lead round in a circle.
    known_[at] = nothing("its links lead round in a circle");
    path.push_back(at);
    const Step next = step(at);
    if (next.done) {
      source = next.source;
      break;
    }
    at = next.next;
  }
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    const Json* own = source.kind == EditorSource::Kind::nothing ? promoted(*it) : nullptr;
    if (own != nullptr) source = {EditorSource::Kind::value, 0, 0, 0, own, ""};
    known_[*it] = source;
  }
  return source;
}

const Json* EditorTracer::promoted(const At& at) const {
  if (at.place != Place::boundary) return nullptr;
  const EditorScope& scope = scopes_[at.scope];
  if (at.slot >= scope.graph->inputs.size()) return nullptr;
  const auto own = scope.promoted.find(scope.graph->inputs[at.slot].name);
  return own == scope.promoted.end() ? nullptr : own->second;
}

EditorTracer::Step EditorTracer::step(const At& at) const {
  if (at.place == Place::output) return step_output(at);
  if (at.place == Place::boundary) return step_boundary(at);
  const EditorNode& node = scopes_[at.scope].graph->nodes[at.node];
  if (at.slot >= node.inputs.size() || !node.inputs[at.slot].link) return {true, nothing("nothing is linked to it"), {}};
  return step_link(at.scope, *node.inputs[at.slot].link);
}

EditorTracer::Step EditorTracer::step_output(const At& at) const {
  const EditorScope& scope = scopes_[at.scope];
  const EditorNode& node = scope.graph->nodes[at.node];
  if (node.mode == EditorMode::muted) return {true, nothing("the node before it is muted"), {}};
  if (node.mode == EditorMode::bypassed) {
    const std::optional<size_t> input = passed_on(node, at.slot);
    if (!input) return {true, nothing("the node before it is bypassed and has no input of that type"), {}};
    return {false, {}, {Place::input, at.scope, at.node, *input}};
  }
  if (node.type == kReroute) return {false, {}, {Place::input, at.scope, at.node, 0}};
  if (node.type == kPrimitive) {
    const Json* value = value_of_primitive(node);
    if (value == nullptr) return {true, nothing("the primitive node before it has no value"), {}};
    return {true, {EditorSource::Kind::value, 0, 0, 0, value, ""}, {}};
  }
  if (is_editor_only(node.type)) return {true, nothing("the node before it is a note"), {}};
  const auto child = scope.children.find(at.node);
  if (child == scope.children.end()) return {true, {EditorSource::Kind::output, at.scope, at.node, at.slot, nullptr, ""}, {}};
  const std::vector<EditorSlot>& outputs = scopes_[child->second].graph->outputs;
  if (at.slot >= outputs.size() || !outputs[at.slot].link) return {true, nothing("nothing is linked to the subgraph's output inside of it"), {}};
  return step_link(child->second, *outputs[at.slot].link);
}

EditorTracer::Step EditorTracer::step_boundary(const At& at) const {
  const EditorScope& scope = scopes_[at.scope];
  if (at.slot >= scope.graph->inputs.size()) return {true, nothing("the subgraph has no such input"), {}};
  const EditorNode& instance = scopes_[scope.parent].graph->nodes[scope.instance];
  const std::string& name = scope.graph->inputs[at.slot].name;
  const auto input = std::ranges::find(instance.inputs, name, &EditorSlot::name);
  if (input == instance.inputs.end()) return {true, nothing("nothing is linked to the subgraph's input"), {}};
  return {false, {}, {Place::input, scope.parent, scope.instance, static_cast<size_t>(input - instance.inputs.begin())}};
}

EditorTracer::Step EditorTracer::step_link(uint32_t scope, const std::string& link) const {
  const EditorGraph& graph = *scopes_[scope].graph;
  const auto found = graph.links.find(link);
  if (found == graph.links.end()) return {true, nothing("its link does not exist"), {}};
  const EditorLink& edge = found->second;
  if (scopes_[scope].parent != EditorScope::kNone && edge.origin == graph.input_node)
    return {false, {}, {Place::boundary, scope, 0, edge.origin_slot}};
  const auto origin = graph.index.find(edge.origin);
  if (origin == graph.index.end()) return {true, nothing("its link comes from a node that does not exist"), {}};
  return {false, {}, {Place::output, scope, static_cast<uint32_t>(origin->second), edge.origin_slot}};
}

}  // namespace veneer::graph
