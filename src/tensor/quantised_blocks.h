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

// Whether quantise_blocks knows the dtype: q8_0, q5_1, q5_0, q4_1, q4_0.
bool can_quantise(DType dtype);
// The blocks whose elements are the nearest to `values`, each of which has to be finite and within f16's range; whole blocks. Rounds as ggml's
// reference quantisers do. Throws Error(unsupported) for other dtypes.
void quantise_blocks(DType dtype, std::span<const float> values, std::byte* out);

}  // namespace veneer
