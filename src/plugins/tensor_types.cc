#include "plugins/tensor_types.h"

#include <algorithm>

#include "sampling/latent.h"

namespace veneer::plugins {
namespace {

using graph::Value;

// Whether a tensor of this shape may be what the type promises to other nodes.
bool shape_fits(std::string_view type, const Tensor& tensor) {
  if (type == "IMAGE") return tensor.dtype() == DType::f32 && tensor.rank() == 4 && tensor.dim(3) == 3;
  if (type == "MASK") return tensor.dtype() == DType::f32 && tensor.rank() == 3;
  if (type == "LATENT") return tensor.dtype() == DType::f32 && tensor.rank() == 4;
  return true;
}

bool is_tensor_type(std::string_view type) { return type == "IMAGE" || type == "MASK" || type == "LATENT"; }

bool fits_one(const Value& value, std::string_view type) {
  if (type == "*") return true;
  if (is_tensor_type(type)) {
    if (type == "LATENT" && !value.holds<sampling::Latent>()) return false;
    const std::optional<Tensor> tensor = tensor_in(value);
    return tensor && value.type() == type && shape_fits(type, *tensor);
  }
  if (value.is_none()) return false;  // else the next node would be blamed for what it was given
  const bool json = value.is_json();
  if (type == "INT") return json && value.as_json().is_number_integer();
  if (type == "FLOAT") return json && value.as_json().is_number();
  if (type == "STRING") return json && value.as_json().is_string();
  if (type == "BOOLEAN") return json && value.as_json().is_boolean();
  // Types of other nodes: an object has to bear the name, plain data may stand for anything.
  return !value.is_object() || value.type() == type;
}

}  // namespace

std::optional<Tensor> tensor_in(const Value& value) {
  if (value.holds<Tensor>()) return value.get<Tensor>();
  if (value.holds<sampling::Latent>()) return value.get<sampling::Latent>().samples;
  return std::nullopt;
}

Value tensor_value(const std::string& type, Tensor tensor) {
  if (!shape_fits(type, tensor)) {
    throw Error(ErrorCode::invalid, "plug-in: the shape or dtype does not go with the type",
                {{"type", type},
                 {"shape", tensor.shape().to_string()},
                 {"dtype", std::string(to_string(tensor.dtype()))},
                 {"allowed", "IMAGE [N, H, W, 3] f32, MASK [N, H, W] f32, LATENT [N, C, h, w] f32"}});
  }
  if (type == "LATENT") return Value::of("LATENT", sampling::Latent{.samples = std::move(tensor)});
  return Value::of(type, std::move(tensor));
}

std::optional<DType> dtype_of(int32_t dtype) {
  switch (dtype) {
    case VENEER_F32: return DType::f32;
    case VENEER_F16: return DType::f16;
    case VENEER_BF16: return DType::bf16;
    case VENEER_U8: return DType::u8;
    case VENEER_I32: return DType::i32;
    case VENEER_I64: return DType::i64;
    default: return std::nullopt;
  }
}

int32_t abi_dtype(DType dtype) {
  for (const int32_t each : {VENEER_F32, VENEER_F16, VENEER_BF16, VENEER_U8, VENEER_I32, VENEER_I64}) {
    if (dtype_of(each) == dtype) return each;
  }
  return VENEER_OTHER_DTYPE;
}

void check_type(const Value& value, const std::string& type, const std::string& output) {
  if (value.is_blocker()) return;
  std::string_view rest = type;
  while (true) {
    const size_t comma = rest.find(',');
    std::string_view one = rest.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (fits_one(value, one)) return;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  const graph::Json got = value.describe();
  throw Error(
      ErrorCode::invalid, "the node gave an output of another type than it declares",
      {{"output", output}, {"want", type}, {"got", got.is_string() && value.is_object() ? got.get<std::string>() : std::string(value.type())}});
}

}  // namespace veneer::plugins
