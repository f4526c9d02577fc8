// The steps of Winograd's convolutions (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2016) on f32 pictures in NHWC. A tile of
// 4x4 pixels gives 2x2 results of a 3x3 kernel, F(2x2, 3x3), or 3x3 results of a 2x2 kernel, F(3x3, 2x2): 16 products for each pair of channels, one
// at each of 16 positions, where sums over taps take 36.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute::winograd {

constexpr size_t kPositions = 16;
// Input channels of a panel, and output channels of a block: channels are multiples of it.
constexpr size_t kChannels = 64;
// Tiles of a chunk at most: its sums of one block (524 KB) and the panel's weights stay in a second cache of 1 MB.
constexpr size_t kTiles = 128;
// Floats from one position to the next in tiles and weights: a line more than what lies there, or all positions would fall on the same few sets of
// the caches.
constexpr size_t kTileStep = kTiles * kChannels + 16;
constexpr size_t kWeightStep = kChannels * kChannels + 16;

// The tiles of a batch of pictures. Tile (row, column) of a picture makes the results from (row, column) * side() on.
struct Tiling {
  int64_t taps = 3;  // of the kernel along an axis, 3 or 2
  int64_t pad_top = 0, pad_left = 0;
  int64_t height = 0, width = 0;                // of the input
  int64_t result_height = 0, result_width = 0;  // of the result

  int64_t side() const { return 5 - taps; }
  int64_t rows() const { return (result_height + side() - 1) / side(); }
  int64_t columns() const { return (result_width + side() - 1) / side(); }
};

// Some tiles of a batch, counted picture by picture, row by row; at most kTiles.
struct TileRange {
  size_t first = 0, count = 0;
};

// All of these work on the calling thread; scratch arrays are aligned to 64 bytes. Every element's bits depend on the picture, the weights and the
// instruction set alone, not on how tiles are divided.

// x: [N, height, width, channels]. values: [channels / 64][16][kTileStep], of which tile t of the range gets [64] at t * 64 of each position.
void transform_input(const Tiling& tiling, const float* x, size_t channels, TileRange tiles, float* values);

// Input channels [first, first + 64) of the block of results: weights [out / 64][taps * taps][in][64] in f32, f16 or bf16.
// values: [16][kWeightStep], of which each position's [64][64] is written.
void transform_weights(const Tensor& weights, const Tiling& tiling, size_t in, size_t block, size_t first, float* values);

// sums[position][tile][64] (+)= input[position][tile][64] * weights[position][64][64] for `tiles` tiles; `fresh`: in the place of what was there.
void multiply(const float* input, const float* weights, size_t tiles, bool fresh, float* sums);

// What becomes of a result.
struct Finish {
  const float* bias = nullptr;  // [channels] or null
  Activation activation = Activation::none;
  const float* residual = nullptr;  // as y, or null
};
// Block `block` of y: [N, result_height, result_width, channels].
void transform_result(const Tiling& tiling, const float* sums, TileRange tiles, const Finish& finish, size_t channels, size_t block, float* y);

}  // namespace veneer::compute::winograd
