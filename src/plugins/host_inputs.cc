// What a function asks about its inputs and its place.
#include <algorithm>

#include "graph/json_text.h"
#include "plugins/host_table.h"
#include "plugins/in_call.h"

namespace veneer::plugins {
namespace {

int32_t input_count(void* self, VeneerCall id, size_t* count) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(count);
    *count = call.inputs.entries().size();
    return VENEER_OK;
  });
}

int32_t input_name(void* self, VeneerCall id, size_t index, VeneerText* name) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(name);
    if (index >= call.inputs.entries().size())
      throw Error(ErrorCode::not_found, "plug-in: no input of this index", {{"index", std::to_string(index)}});
    *name = as_abi(call.inputs.entries()[index].first);
    return VENEER_OK;
  });
}

int32_t input_length(void* self, VeneerCall id, VeneerText name, size_t* length) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(length);
    *length = call.inputs.list(view_of(name)).size();
    return VENEER_OK;
  });
}

int32_t input_value(void* self, VeneerCall id, VeneerText name, size_t index, VeneerValue* value) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(value);
    const std::vector<graph::Value>& values = call.inputs.list(view_of(name));
    *value = index < values.size() ? call.handle_of(values[index]) : 0;
    return VENEER_OK;
  });
}

int32_t input_type(void* self, VeneerCall id, VeneerText name, VeneerText* type) noexcept {
  return in_phase(self, id, Phase::validate, [&](CallState& call) -> int32_t {
    require(type);
    const auto it = call.input_types->find(std::string(view_of(name)));
    *type = it == call.input_types->end() ? VeneerText{nullptr, 0} : as_abi(it->second);
    return VENEER_OK;
  });
}

const graph::NodeContext& context_of(const CallState& call) {
  if (call.context == nullptr) throw Error(ErrorCode::invalid, "plug-in: nothing of a run is known in this function of a node");
  return *call.context;
}

VeneerText node_id(void* self, VeneerCall id) noexcept {
  VeneerText text{nullptr, 0};
  in_call(self, id, [&](CallState& call) -> int32_t {
    text = as_abi(context_of(call).node_id());
    return VENEER_OK;
  });
  return text;
}

VeneerText prompt_id(void* self, VeneerCall id) noexcept {
  VeneerText text{nullptr, 0};
  in_call(self, id, [&](CallState& call) -> int32_t {
    text = as_abi(context_of(call).prompt_id());
    return VENEER_OK;
  });
  return text;
}

int32_t prompt_json(void* self, VeneerCall id, VeneerText* json) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(json);
    *json = call.keep(graph::dump_json(context_of(call).prompt()));
    return VENEER_OK;
  });
}

int32_t extra_pnginfo_json(void* self, VeneerCall id, VeneerText* json) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(json);
    *json = call.keep(graph::dump_json(context_of(call).extra_pnginfo()));
    return VENEER_OK;
  });
}

int32_t cancelled(void* self, VeneerCall id) noexcept {
  int32_t stop = 1;
  in_call(self, id, [&](CallState& call) -> int32_t {
    stop = call.context != nullptr && call.context->cancel().cancelled() ? 1 : 0;
    return VENEER_OK;
  });
  return stop;
}

// What a node of a plug-in keeps.
struct NodeState {
  NodeState() = default;
  NodeState(const NodeState&) = delete;
  NodeState& operator=(const NodeState&) = delete;
  ~NodeState() {
    if (destroy != nullptr) destroy(data);
  }
  std::mutex mutex;
  std::shared_ptr<Session> session;  // while there is something to destroy
  bool made = false;
  void* data = nullptr;
  void (*destroy)(void*) = nullptr;
};

int32_t state(void* self, VeneerCall id, void* (*make)(void*), void* argument, void (*destroy)(void*), void** out) noexcept {
  return in_phase(self, id, Phase::run, [&](CallState& call) -> int32_t {
    require(out);
    if (make == nullptr) throw Error(ErrorCode::invalid, "plug-in: no function that makes the state");
    const std::shared_ptr<NodeState> kept = call.context->state<NodeState>();
    const std::lock_guard lock(kept->mutex);
    if (!kept->made) {
      kept->data = make(argument);
      kept->destroy = destroy;
      kept->session = static_cast<Session*>(self)->shared_from_this();
      kept->made = true;
    }
    *out = kept->data;
    return VENEER_OK;
  });
}

}  // namespace

void fill_inputs(VeneerHost& host) {
  host.input_count = input_count;
  host.input_name = input_name;
  host.input_length = input_length;
  host.input_value = input_value;
  host.input_type = input_type;
  host.node_id = node_id;
  host.prompt_id = prompt_id;
  host.prompt_json = prompt_json;
  host.extra_pnginfo_json = extra_pnginfo_json;
  host.cancelled = cancelled;
  host.state = state;
}

}  // namespace veneer::plugins
