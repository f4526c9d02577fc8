// What a function asks about values.
#include "graph/json_text.h"
#include "plugins/host_table.h"
#include "plugins/in_call.h"
#include "plugins/plugin_object.h"
#include "plugins/tensor_types.h"

namespace veneer::plugins {
namespace {

using graph::Json;
using graph::Value;

constexpr int kMaxListDepth = 64;

int32_t kind_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: return VENEER_KIND_NONE;
    case Value::Kind::list: return VENEER_KIND_LIST;
    case Value::Kind::blocker: return VENEER_KIND_BLOCKER;
    case Value::Kind::object: return tensor_in(value) ? VENEER_KIND_TENSOR : VENEER_KIND_OBJECT;
    case Value::Kind::json: break;
  }
  const Json& json = value.as_json();
  if (json.is_boolean()) return VENEER_KIND_BOOLEAN;
  if (json.is_number_integer()) return VENEER_KIND_INTEGER;
  if (json.is_number()) return VENEER_KIND_NUMBER;
  return json.is_string() ? VENEER_KIND_TEXT : VENEER_KIND_JSON;
}

Json json_of(const Value& value, int depth) {
  if (value.is_none()) return nullptr;
  if (!value.is_list()) return value.as_json();
  if (depth >= kMaxListDepth) throw Error(ErrorCode::invalid, "plug-in: lists in lists too deep for JSON");
  Json list = Json::array();
  for (const Value& each : value.as_list()) list.push_back(json_of(each, depth + 1));
  return list;
}

// A function that writes what `get` makes of the value.
template <typename Out, typename Get>
int32_t look(void* self, VeneerCall id, VeneerValue handle, Out* out, Get get) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(out);
    *out = get(call, call.value_of(handle));
    return VENEER_OK;
  });
}

int32_t value_kind(void* self, VeneerCall id, VeneerValue value, int32_t* kind) noexcept {
  return look(self, id, value, kind, [](CallState&, const Value& v) { return kind_of(v); });
}

int32_t value_type(void* self, VeneerCall id, VeneerValue value, VeneerText* type) noexcept {
  return look(self, id, value, type, [](CallState&, const Value& v) { return as_abi(v.type()); });
}

int32_t as_boolean(void* self, VeneerCall id, VeneerValue value, int32_t* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) { return v.as_boolean() ? 1 : 0; });
}

int32_t as_integer(void* self, VeneerCall id, VeneerValue value, int64_t* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) { return v.as_integer(); });
}

int32_t as_unsigned(void* self, VeneerCall id, VeneerValue value, uint64_t* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) { return v.as_unsigned(); });
}

int32_t as_number(void* self, VeneerCall id, VeneerValue value, double* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) { return v.as_number(); });
}

int32_t as_text(void* self, VeneerCall id, VeneerValue value, VeneerText* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) {
    if (v.is_blocker()) return as_abi(v.blocker_message() ? std::string_view(*v.blocker_message()) : std::string_view());
    return as_abi(v.as_text());
  });
}

int32_t as_json(void* self, VeneerCall id, VeneerValue value, VeneerText* out) noexcept {
  return look(self, id, value, out, [](CallState& call, const Value& v) { return call.keep(graph::dump_json(json_of(v, 0))); });
}

int32_t as_tensor(void* self, VeneerCall id, VeneerValue value, VeneerTensor* out) noexcept {
  return look(self, id, value, out, [](CallState&, const Value& v) {
    const std::optional<Tensor> tensor = tensor_in(v);
    if (!tensor) throw Error(ErrorCode::invalid, "graph: value has another type", {{"want", "a tensor"}, {"got", std::string(v.type())}});
    VeneerTensor view{};
    view.dtype = abi_dtype(tensor->dtype());
    view.rank = tensor->rank();
    std::ranges::copy(tensor->shape().dims(), std::begin(view.dims));
    view.data = tensor->bytes();
    view.size_bytes = tensor->size_bytes();
    return view;
  });
}

int32_t as_object(void* self, VeneerCall id, VeneerValue value, VeneerText type, void** out) noexcept {
  return look(self, id, value, out, [&](CallState&, const Value& v) {
    if (v.type() != view_of(type) || !v.holds<PluginObject>() || v.get<PluginObject>().session() != self) {
      throw Error(ErrorCode::invalid, "graph: value has another type", {{"want", std::string(view_of(type))}, {"got", std::string(v.type())}});
    }
    return v.get<PluginObject>().data();
  });
}

int32_t list_length(void* self, VeneerCall id, VeneerValue list, size_t* length) noexcept {
  return look(self, id, list, length, [](CallState&, const Value& v) { return v.as_list().size(); });
}

int32_t list_item(void* self, VeneerCall id, VeneerValue list, size_t index, VeneerValue* item) noexcept {
  return look(self, id, list, item, [&](CallState& call, const Value& v) {
    if (index >= v.as_list().size()) throw Error(ErrorCode::not_found, "plug-in: the list is shorter", {{"index", std::to_string(index)}});
    return call.handle_of(v.as_list()[index]);
  });
}

}  // namespace

void fill_values(VeneerHost& host) {
  host.value_kind = value_kind;
  host.value_type = value_type;
  host.as_boolean = as_boolean;
  host.as_integer = as_integer;
  host.as_unsigned = as_unsigned;
  host.as_number = as_number;
  host.as_text = as_text;
  host.as_json = as_json;
  host.as_tensor = as_tensor;
  host.as_object = as_object;
  host.list_length = list_length;
  host.list_item = list_item;
}

}  // namespace veneer::plugins
