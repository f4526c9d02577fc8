// Element types of tensors. The names are safetensors' own, in lower case where Veneer prints them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace veneer {

enum class DType : uint8_t { f64, f32, f16, bf16, f8_e4m3fn, f8_e5m2, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

// Bytes of one element.
size_t size_of(DType dtype);
// "f32", "f8_e4m3fn", "bool", ...
std::string_view to_string(DType dtype);
// The inverse of to_string. Throws Error(invalid) naming the allowed values.
DType dtype_from_string(std::string_view name);
bool is_floating(DType dtype);

}  // namespace veneer
