// Stochastic rounding to fp8: a value between two neighbours becomes the upper one with the probability of its place between them, so that a
// difference smaller than half a step survives on average. Reproducible: the draws come from a seed.
//
// The arithmetic is float16 throughout, each operation rounded to nearest even, as torch's CPU code gives it. In e5m2 the top exponent lies
// outside of float16, so values within a few steps of 65504 become what that arithmetic makes of them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/tensor.h"

namespace veneer {

// CRC-32 (IEEE 802.3, reflected) over the code points of a UTF-8 string, each xor-ed in whole. The seed of a weight's rounding is that of its key.
// Bytes that are no UTF-8 count as code points of their own value.
uint32_t string_to_seed(std::string_view text);

// `value` (any floating dtype) as `dtype` (f8_e4m3fn or f8_e5m2), same shape. One uniform draw per element in row-major order from a 32-bit
// Mersenne Twister seeded with the low 32 bits of `seed`: (draw & 0xffffff) * 2^-24 rounded to float16, where 1 becomes 0. Results are clamped to the
// finite range; NaN stays NaN. Throws Error(unsupported) for other dtypes.
Tensor stochastic_round(const Tensor& value, DType dtype, uint64_t seed, Allocator& allocator = system_allocator());

// The same with given draws in [0, 1), one per element. Throws Error(invalid) if their number differs.
Tensor stochastic_round(const Tensor& value, DType dtype, std::span<const float> uniform, Allocator& allocator = system_allocator());

}  // namespace veneer
