// The quantised blocks of ggml (https://github.com/ggml-org/ggml, docs/formats/gguf.md): 32 or 256 elements that share scales.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/dtype.h"

namespace veneer {

inline constexpr size_t kMaxBlockElements = 256;

// Writes the elements of `num_blocks` blocks as f32, each in the order of operations of ggml's own reader. `dtype` has to be quantised; `blocks` may
// be unaligned. Values follow the stored scales, so a broken file gives infinities or NaN here.
void dequantise_blocks(DType dtype, const std::byte* blocks, size_t num_blocks, float* out);

// Whether quantise_blocks knows the dtype: every quantised one.
bool can_quantise(DType dtype);
// Blocks whose elements are near to `values`, each of which has to be finite and within f16's range; whole blocks. q8_0, q5_1, q5_0, q4_1 and q4_0
// round as ggml's reference quantisers do; those of 256 elements are fitted by least squares. Throws Error(unsupported) for other dtypes.
void quantise_blocks(DType dtype, std::span<const float> values, std::byte* out);

// One block of 256 elements: q2_k, q3_k, q4_k, q5_k, q6_k.
void quantise_k_block(DType dtype, const float* values, std::byte* out);

}  // namespace veneer
