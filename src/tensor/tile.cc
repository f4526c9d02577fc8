#include "tensor/tile.h"

#include <algorithm>

#include "tensor/convert.h"
#include "tensor/convert_kernels.h"

namespace veneer {

namespace {

using Widen = void (*)(const uint16_t*, size_t, float*);

// Rows of a tile are short, so that the ways of the general conversion would cost as much as the values.
void copy_halves(const Tensor& tensor, const Tile& tile, const TileValues& out, Widen widen) {
  const int64_t row_size = tensor.shape().num_elements_from(1);
  const uint16_t* from = tensor.data<uint16_t>() + tile.first_row * row_size + tile.first_column;
  for (int64_t r = 0; r < tile.rows; ++r) widen(from + r * row_size, static_cast<size_t>(tile.columns), out.data + r * out.stride);
}

}  // namespace

void copy_to_f32(const Tensor& tensor, const Tile& tile, const TileValues& out) {
  if (tensor.scale() == 1 && tensor.aligned()) {
    if (tensor.dtype() == DType::f16) return copy_halves(tensor, tile, out, kernels::f16_to_f32);
    if (tensor.dtype() == DType::bf16) return copy_halves(tensor, tile, out, kernels::bf16_to_f32);
  }
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
