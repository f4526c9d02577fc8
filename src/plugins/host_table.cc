#include "plugins/host_table.h"

#include "plugins/description.h"
#include "plugins/in_call.h"

namespace veneer::plugins {
namespace {

// Takes the members that the plug-in knew when it was compiled.
VeneerNode copied(const VeneerNode& given) {
  VeneerNode node{};
  std::memcpy(&node, &given, std::min(given.size, sizeof node));
  node.size = sizeof node;
  return node;
}

int32_t add_node(void* self, VeneerText description, const VeneerNode* given) noexcept {
  if (self == nullptr || given == nullptr || given->size < sizeof(size_t)) return VENEER_INVALID;
  auto& session = *static_cast<Session*>(self);
  try {
    auto functions = std::make_shared<NodeFunctions>(copied(*given));
    if (!session.describing()) return VENEER_WRONG_PLACE;
    graph::NodeDef def = parse_description(view_of(description));
    const auto require_one = [&](bool there, const char* what) {
      if (!there) throw Error(ErrorCode::invalid, "plug-in: a node class lacks a function", {{"class", def.class_type}, {"function", what}});
    };
    require_one(functions->node().run != nullptr, "run");
    const bool announced = !def.validator.inputs.empty() || def.validator.takes_all || def.validator.takes_input_types;
    require_one(!announced || functions->node().validate != nullptr, "validate");
    session.describe({std::move(def), std::move(functions)});
    return VENEER_OK;
  } catch (const Error& error) {
    session.note_fault(error.what());
    return status_of(error.code());
  } catch (const std::exception& error) {
    session.note_fault(error.what());
    return VENEER_INTERNAL;
  }
}

void refuse_plugin(void* self, VeneerText reason) noexcept {
  if (self == nullptr || !static_cast<Session*>(self)->describing()) return;
  try {
    const std::string text = printable_text(reason);
    static_cast<Session*>(self)->refuse(text.empty() ? "it gave no reason" : text);
  } catch (const std::exception&) {
    return;  // out of memory: the status that the plug-in returns refuses it
  }
}

int32_t set_error(void* self, VeneerCall id, VeneerText reason) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    call.error = printable_text(reason);
    return VENEER_OK;
  });
}

VeneerText last_error(void* self, VeneerCall id) noexcept {
  VeneerText text{nullptr, 0};
  in_call(self, id, [&](CallState& call) -> int32_t {
    text = call.keep(call.error);
    return VENEER_OK;
  });
  return text;
}

}  // namespace

void fill_registration(VeneerHost& host) {
  host.add_node = add_node;
  host.refuse_plugin = refuse_plugin;
  host.set_error = set_error;
  host.last_error = last_error;
}

VeneerHost host_table(Session* session) {
  VeneerHost host{};
  host.size = sizeof host;
  host.version = VENEER_PLUGIN_VERSION;
  host.revision = VENEER_PLUGIN_REVISION;
  host.self = session;
  fill_registration(host);
  fill_inputs(host);
  fill_values(host);
  fill_makers(host);
  fill_results(host);
  fill_graph(host);
  return host;
}

}  // namespace veneer::plugins
