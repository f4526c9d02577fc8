// A rectangle of a tensor seen as a matrix: rows of the first dimension, columns of all others. What works on weights piece by piece talks in these.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace veneer {

struct Tile {
  int64_t first_row = 0, rows = 0;
  int64_t first_column = 0, columns = 0;
};

// A tile in memory: row r begins at data + r * stride.
struct TileValues {
  float* data = nullptr;
  int64_t stride = 0;
  std::span<float> row(int64_t r, int64_t columns) const { return {data + r * stride, static_cast<size_t>(columns)}; }
};

// The tile's elements as f32, on the calling thread. They have to be there.
void copy_to_f32(const Tensor& tensor, const Tile& tile, const TileValues& out);

// Brings the tile's bytes into the caches, for soon. What lies beyond the tensor is left out.
void prefetch(const Tensor& tensor, const Tile& tile);

}  // namespace veneer
