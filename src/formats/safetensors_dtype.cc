#include <array>

#include "formats/safetensors_header.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array<DTypeName, 15> kNames = {{
    {DType::f64, "F64"},
    {DType::f32, "F32"},
    {DType::f16, "F16"},
    {DType::bf16, "BF16"},
    {DType::f8_e4m3fn, "F8_E4M3"},
    {DType::f8_e5m2, "F8_E5M2"},
    {DType::i64, "I64"},
    {DType::i32, "I32"},
    {DType::i16, "I16"},
    {DType::i8, "I8"},
    {DType::u64, "U64"},
    {DType::u32, "U32"},
    {DType::u16, "U16"},
    {DType::u8, "U8"},
    {DType::boolean, "BOOL"},
}};

}  // namespace

std::string_view safetensors_dtype_name(DType dtype) {
  for (const DTypeName& entry : kNames) {
    if (entry.dtype == dtype) return entry.name;
  }
  throw Error(ErrorCode::internal, "safetensors: dtype has no name", {{"dtype", std::string(to_string(dtype))}});
}

std::optional<DType> dtype_of_safetensors_name(std::string_view name) {
  for (const DTypeName& entry : kNames) {
    if (entry.name == name) return entry.dtype;
  }
  return std::nullopt;
}

}  // namespace veneer::formats
