// Conversions between dtypes, exact to the bit: round to nearest, ties to even. stochastic_rounding.h has the other rounding.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace veneer {

// Scalar conversions as torch's casts. NaN stays NaN (its payload is not kept, its sign is, but for bf16). What rounds beyond the largest finite
// value becomes infinity (f16 from 65520, bf16, f8_e5m2 from 61440) or, in the type without infinities, NaN (f8_e4m3fn above 464).
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float f8_e4m3fn_to_f32(uint8_t bits);
uint8_t f32_to_f8_e4m3fn(float value);
float f8_e5m2_to_f32(uint8_t bits);
uint8_t f32_to_f8_e5m2(float value);

// `value` rounded to a floating dtype and back. f32 and f64 return it unchanged.
float round_to(float value, DType dtype);

// A tensor of `dtype` with the same shape; the same handle when it has that dtype already, is aligned and has no scale. Any floating dtype to any
// floating dtype but the quantised, and integers and bool to floating. The result is of values: scales of fp8 and of blocks are applied. f64 and
// 64-bit integers reach the small types through f32, as in torch; f64 directly where it is the target. Throws Error(unsupported) otherwise. Large
// tensors are converted in parallel.
Tensor to_dtype(const Tensor& tensor, DType dtype, Allocator& allocator = system_allocator());

// Writes all elements as f32. out.size() must be the element count, else Error(invalid).
void copy_to_f32(const Tensor& tensor, std::span<float> out);
// Elements [begin, begin + out.size()) only, on the calling thread. They have to be there.
void copy_range_to_f32(const Tensor& tensor, size_t begin, std::span<float> out);

// Writes f32 values as `dtype` into `out` (values.size() * size_of(dtype) bytes, any alignment). Floating dtypes only, else Error(unsupported).
void copy_from_f32(std::span<const float> values, DType dtype, std::byte* out);

}  // namespace veneer
