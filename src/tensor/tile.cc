#include "tensor/tile.h"

#include <algorithm>

#include "tensor/convert.h"

namespace veneer {

void copy_to_f32(const Tensor& tensor, const Tile& tile, const TileValues& out) {
  const int64_t row_size = tensor.shape().num_elements_from(1);
  for (int64_t r = 0; r < tile.rows; ++r) {
    copy_range_to_f32(tensor, static_cast<size_t>((tile.first_row + r) * row_size + tile.first_column), out.row(r, tile.columns));
  }
}

void prefetch(const Tensor& tensor, const Tile& tile) {
  if (is_quantised(tensor.dtype())) return;
  constexpr int64_t kLine = 64;
  const auto size = static_cast<int64_t>(size_of(tensor.dtype())), row_size = tensor.shape().num_elements_from(1);
  const int64_t rows = std::min(tile.rows, tensor.dim(0) - tile.first_row), columns = std::min(tile.columns, row_size - tile.first_column);
  for (int64_t r = 0; r < rows; ++r) {
    const std::byte* row = tensor.bytes() + ((tile.first_row + r) * row_size + tile.first_column) * size;
    for (int64_t at = 0; at < columns * size; at += kLine) __builtin_prefetch(row + at, 0, 2);
  }
}

}  // namespace veneer
