// Expansion, and the graph around the node.
#include "plugins/host_table.h"
#include "plugins/in_call.h"

namespace veneer::plugins {
namespace {

constexpr size_t kMaxGraphNodes = 100'000;  // of one call

graph::GraphBuilder::Node& node_of(CallState& call, uint32_t node) {
  if (node >= call.graph_nodes.size()) throw Error(ErrorCode::not_found, "plug-in: no node of this number in the sub-graph");
  return *call.graph_nodes[node];
}

int32_t graph_node(void* self, VeneerCall id, VeneerText class_type, VeneerText local_id, uint32_t* node) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    require(node);
    if (call.graph_nodes.size() >= kMaxGraphNodes) throw Error(ErrorCode::invalid, "plug-in: the sub-graph has too many nodes");
    if (!call.graph) call.graph.emplace(*call.context);
    call.graph_nodes.push_back(&call.graph->node(checked_text(class_type, "a class"), checked_text(local_id, "a node's id")));
    *node = static_cast<uint32_t>(call.graph_nodes.size() - 1);
    return VENEER_OK;
  });
}

int32_t graph_node_id(void* self, VeneerCall id, uint32_t node, VeneerText* text) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    require(text);
    *text = as_abi(node_of(call, node).id());
    return VENEER_OK;
  });
}

int32_t graph_set(void* self, VeneerCall id, uint32_t node, VeneerText input, VeneerValue value) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    node_of(call, node).set(checked_text(input, "an input's name"), call.value_of(value));
    return VENEER_OK;
  });
}

int32_t graph_link(void* self, VeneerCall id, uint32_t node, VeneerText input, VeneerText from_id, int32_t slot) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    node_of(call, node).set(checked_text(input, "an input's name"), graph::Link{checked_text(from_id, "a node's id"), slot});
    return VENEER_OK;
  });
}

int32_t graph_display(void* self, VeneerCall id, uint32_t node, VeneerText display) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    node_of(call, node).display(checked_text(display, "a node's id"));
    return VENEER_OK;
  });
}

int32_t view_node(void* self, VeneerCall id, VeneerText node, VeneerText* class_type, size_t* input_count) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    require(class_type);
    require(input_count);
    const graph::GraphView::Node& found = call.context->graph().node(view_of(node));
    *class_type = call.keep(found.class_type);
    *input_count = found.inputs.size();
    return VENEER_OK;
  });
}

int32_t view_input(void* self, VeneerCall id, VeneerText node, size_t index, VeneerText* name, VeneerText* from_id, int32_t* slot,
                   VeneerValue* value) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    require(name);
    require(from_id);
    require(slot);
    require(value);
    const graph::GraphView::Node& found = call.context->graph().node(view_of(node));
    if (index >= found.inputs.size()) throw Error(ErrorCode::not_found, "plug-in: no input of this index", {{"index", std::to_string(index)}});
    const auto& [input, source] = found.inputs[index];
    *name = call.keep(input);
    *from_id = {nullptr, 0};
    *slot = 0;
    *value = 0;
    if (const graph::Link* link = std::get_if<graph::Link>(&source)) {
      *from_id = call.keep(link->node_id);
      *slot = link->slot;
    } else {
      *value = call.handle_of(std::get<graph::Value>(source));
    }
    return VENEER_OK;
  });
}

}  // namespace

void fill_graph(VeneerHost& host) {
  host.graph_node = graph_node;
  host.graph_node_id = graph_node_id;
  host.graph_set = graph_set;
  host.graph_link = graph_link;
  host.graph_display = graph_display;
  host.view_node = view_node;
  host.view_input = view_input;
}

}  // namespace veneer::plugins
