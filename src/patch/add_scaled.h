// Adds a stored tensor to tiles of a weight.
#pragma once

#include <vector>

#include "tensor/tile.h"

namespace veneer::patch {

// values += strength * change(tensor's tile), where `change` is called with the tile and its values in memory of its own.
template <typename Change>
void add_scaled(const Tensor& tensor, float strength, const Tile& tile, const TileValues& values, const Change& change) {
  std::vector<float> own(static_cast<size_t>(tile.rows * tile.columns));
  const TileValues changed{own.data(), tile.columns};
  copy_to_f32(tensor, tile, changed);
  change(tile, changed);
  for (int64_t r = 0; r < tile.rows; ++r) {
    const std::span<float> to = values.row(r, tile.columns), from = changed.row(r, tile.columns);
    for (size_t i = 0; i < to.size(); ++i) to[i] += strength * from[i];
  }
}

}  // namespace veneer::patch
