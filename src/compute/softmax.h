// One step of the online softmax of attention by matmuls, in bf16 (Milakov and Gimelshein 2018; Dao et al., "FlashAttention", 2022).
#pragma once

#include <cstddef>
#include <cstdint>

namespace veneer::compute {

// Scores are worked on in runs of this many.
constexpr size_t kSoftmaxUnit = 16;

// A tile of scores [rows, keys] and what the rows have gathered so far. For one row with scores s, before: most = max of the scaled scores,
// total = sum of their exponentials relative to it, gathered = the sum of values weighted with them.
struct SoftmaxTile {
  size_t rows = 0, keys = 0;
  float* scores = nullptr;  // row r at scores + r * stride; masked scores and those from `keys` up to `stride` get overwritten
  size_t stride = 0;        // a multiple of kSoftmaxUnit
  // Scores times this are exponents of two: the scale of attention times log2(e).
  float factor = 1.0F;
  // Row r takes part with keys [first_key, min(keys, last_key + r)) only; the others get weight 0.
  int64_t first_key = 0, last_key = 0;
  float *most = nullptr, *total = nullptr;  // [rows]
  float* gathered = nullptr;                // [rows, head_dim], scaled down to the new maximum
  size_t head_dim = 0;
};

// Writes the weights 2^(factor * s - most) as bf16 to weights + r * stride.
void softmax_step(const SoftmaxTile& tile, uint16_t* weights);

// y[r] = gathered[r] / total[r] in bf16 for rows [begin, tile.rows), row r at y + (r - begin) * stride.
void softmax_finish(const SoftmaxTile& tile, size_t begin, uint16_t* y, size_t stride);

}  // namespace veneer::compute
