// Values that a plug-in makes.
#include <span>

#include "graph/json_text.h"
#include "plugins/host_table.h"
#include "plugins/in_call.h"
#include "plugins/plugin_object.h"
#include "plugins/tensor_types.h"

namespace veneer::plugins {
namespace {

using graph::Value;

template <typename Make>
int32_t made(void* self, VeneerCall id, VeneerValue* out, Make make) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(out);
    *out = call.handle_of(make(call));
    return VENEER_OK;
  });
}

int32_t make_boolean(void* self, VeneerCall id, int32_t from, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::boolean(from != 0); });
}

int32_t make_integer(void* self, VeneerCall id, int64_t from, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::integer(from); });
}

int32_t make_unsigned(void* self, VeneerCall id, uint64_t from, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::unsigned_integer(from); });
}

int32_t make_number(void* self, VeneerCall id, double from, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::number(from); });
}

int32_t make_text(void* self, VeneerCall id, VeneerText from, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::text(checked_text(from, "a text value")); });
}

int32_t make_json(void* self, VeneerCall id, VeneerText json, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState&) { return Value::json(graph::parse_json(view_of(json))); });
}

int32_t make_tensor(void* self, VeneerCall id, VeneerText type, int32_t dtype, const int64_t* dims, int32_t rank, VeneerValue* out,
                    void** data) noexcept {
  return in_call(self, id, [&](CallState& call) -> int32_t {
    require(out);
    require(data);
    const std::optional<DType> known = dtype_of(dtype);
    if (!known) throw Error(ErrorCode::invalid, "plug-in: no dtype of this number", {{"dtype", std::to_string(dtype)}});
    if (rank < 0 || rank > VENEER_MAX_RANK || (rank > 0 && dims == nullptr)) {
      throw Error(ErrorCode::invalid, "plug-in: a tensor has 0 to 8 dimensions", {{"rank", std::to_string(rank)}});
    }
    const Shape shape(std::span<const int64_t>(dims, static_cast<size_t>(rank)));
    if (shape.num_elements() == 0) throw Error(ErrorCode::invalid, "plug-in: a tensor without elements", {{"shape", shape.to_string()}});
    storage_bytes(*known, static_cast<uint64_t>(shape.num_elements()));  // throws where the bytes cannot be counted
    Tensor tensor = Tensor::zeros(shape, *known);
    std::byte* bytes = tensor.mutable_bytes();
    *out = call.handle_of(tensor_value(checked_text(type, "a type"), std::move(tensor)));
    *data = bytes;
    return VENEER_OK;
  });
}

int32_t make_object(void* self, VeneerCall id, VeneerText type, void* object, void (*destroy)(void*), VeneerValue* out) noexcept {
  if (self == nullptr || object == nullptr) {
    return made(self, id, out, [](CallState&) -> Value { throw Error(ErrorCode::invalid, "plug-in: a null pointer for an object"); });
  }
  std::shared_ptr<const PluginObject> owned;
  try {
    owned = std::make_shared<const PluginObject>(static_cast<const Session*>(self)->shared_from_this(), object, destroy);
  } catch (const std::exception&) {
    if (destroy != nullptr) destroy(object);
    return VENEER_NO_MEMORY;
  }
  return made(self, id, out, [&](CallState&) {
    std::string name = checked_text(type, "a type");
    if (name.empty()) throw Error(ErrorCode::invalid, "plug-in: an object without the name of its type");
    return Value::object(std::move(name), owned);
  });
}

int32_t make_list(void* self, VeneerCall id, const VeneerValue* items, size_t length, VeneerValue* out) noexcept {
  return made(self, id, out, [&](CallState& call) {
    if (items == nullptr && length > 0) throw Error(ErrorCode::invalid, "plug-in: a null pointer for a list");
    std::vector<Value> values;
    for (const VeneerValue item : std::span<const VeneerValue>(items, length)) values.push_back(call.value_of(item));
    return Value::list(std::move(values));
  });
}

int32_t make_blocker(void* self, VeneerCall id, VeneerText message, VeneerValue* out) noexcept {
  return made(self, id, out,
              [&](CallState&) { return message.data == nullptr ? Value::blocker() : Value::blocker(checked_text(message, "a blocker's message")); });
}

}  // namespace

void fill_makers(VeneerHost& host) {
  host.make_boolean = make_boolean;
  host.make_integer = make_integer;
  host.make_unsigned = make_unsigned;
  host.make_number = make_number;
  host.make_text = make_text;
  host.make_json = make_json;
  host.make_tensor = make_tensor;
  host.make_object = make_object;
  host.make_list = make_list;
  host.make_blocker = make_blocker;
}

}  // namespace veneer::plugins
