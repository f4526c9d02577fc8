// Element types of tensors. The names are safetensors' own, in lower case where Veneer prints them, and ggml's for its blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace veneer {

// Those from q4_0 on are quantised: elements lie in blocks that share scales (docs/formats/gguf.md), so that an element alone has no bytes of its
// own.
enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8_e4m3fn,
  f8_e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k
};

// How elements are stored: `elements` of them in `bytes` bytes. One element a block for all but the quantised.
struct BlockSize {
  size_t elements = 1;
  size_t bytes = 1;
};
BlockSize block_size(DType dtype);
bool is_quantised(DType dtype);
// Bytes of a number of elements. Throws Error(corrupt) when the product overflows or the elements do not fill whole blocks.
uint64_t storage_bytes(DType dtype, uint64_t num_elements);

// Bytes of one element. Throws Error(unsupported) for the quantised.
size_t size_of(DType dtype);
// "f32", "f8_e4m3fn", "bool", ...
std::string_view to_string(DType dtype);
// The inverse of to_string. Throws Error(invalid) naming the allowed values.
DType dtype_from_string(std::string_view name);
// Whether elements stand for real numbers; true for the quantised.
bool is_floating(DType dtype);

}  // namespace veneer
