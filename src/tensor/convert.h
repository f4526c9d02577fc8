// Conversions between dtypes, exact to the bit: round to nearest even (IEEE), and stochastic rounding to fp8 as the reference does it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace veneer {

// Scalar conversions; NaN stays NaN, values beyond the target's range become infinity (f16, bf16, f8_e5m2) or NaN (f8_e4m3fn), as torch's casts.
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float f8_e4m3fn_to_f32(uint8_t bits);
uint8_t f32_to_f8_e4m3fn(float value);
float f8_e5m2_to_f32(uint8_t bits);
uint8_t f32_to_f8_e5m2(float value);

// A tensor of `dtype` with the same shape; the same handle when it has that dtype already and is aligned. Any floating dtype to any floating
// dtype (through f32, f64 directly), integers to floating. Throws Error(unsupported) otherwise. Large tensors are converted in parallel.
Tensor to_dtype(const Tensor& tensor, DType dtype, Allocator& allocator = system_allocator());

// Writes all elements as f32. out.size() must be the element count.
void copy_to_f32(const Tensor& tensor, std::span<float> out);

}  // namespace veneer
