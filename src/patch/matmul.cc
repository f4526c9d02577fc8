#include "patch/matmul.h"

#include <algorithm>

#include "base/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "patch/matmul.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::patch::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// sum + a * b as the vectors have it.
HWY_INLINE float multiply_add(float a, float b, float sum) {
#if HWY_NATIVE_FMA
  return __builtin_fmaf(a, b, sum);
#else
  return sum + a * b;
#endif
}

// kRows rows (1 or 4) of kVectors vectors (1 or 2) of c; kAdd: c += factor * product.
template <size_t kRows, size_t kVectors, bool kAdd>
HWY_INLINE void block(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t b_stride, float factor, float* HWY_RESTRICT c, size_t c_stride,
                      size_t k) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto s00 = hn::Zero(d), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (size_t i = 0; i < k; ++i) {
    const auto b0 = hn::LoadU(d, b + i * b_stride);
    const auto b1 = kVectors == 2 ? hn::LoadU(d, b + i * b_stride + lanes) : b0;
    const auto step = [&](auto& s0, auto& s1, float value) HWY_ATTR {
      const auto f = hn::Set(d, value);
      s0 = hn::MulAdd(f, b0, s0);
      if constexpr (kVectors == 2) s1 = hn::MulAdd(f, b1, s1);
    };
    step(s00, s01, a[i]);
    if constexpr (kRows == 4) {
      step(s10, s11, a[k + i]);
      step(s20, s21, a[2 * k + i]);
      step(s30, s31, a[3 * k + i]);
    }
  }
  const auto put_one = [&](auto sum, float* to) HWY_ATTR {
    if constexpr (kAdd) sum = hn::Add(hn::LoadU(d, to), hn::Mul(hn::Set(d, factor), sum));
    hn::StoreU(sum, d, to);
  };
  const auto put = [&](auto s0, auto s1, size_t row) HWY_ATTR {
    put_one(s0, c + row * c_stride);
    if constexpr (kVectors == 2) put_one(s1, c + row * c_stride + lanes);
  };
  put(s00, s01, 0);
  if constexpr (kRows == 4) {
    put(s10, s11, 1);
    put(s20, s21, 2);
    put(s30, s31, 3);
  }
}

template <size_t kRows, bool kAdd>
void tile_rows(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, size_t b_stride, float factor, float* HWY_RESTRICT c, size_t c_stride,
               size_t k, size_t width) {
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  size_t j = 0;
  for (; j + 2 * lanes <= width; j += 2 * lanes) block<kRows, 2, kAdd>(a, b + j, b_stride, factor, c + j, c_stride, k);
  for (; j + lanes <= width; j += lanes) block<kRows, 1, kAdd>(a, b + j, b_stride, factor, c + j, c_stride, k);
  for (; j < width; ++j) {
    for (size_t row = 0; row < kRows; ++row) {
      float sum = 0;
      for (size_t i = 0; i < k; ++i) sum = multiply_add(a[row * k + i], b[i * b_stride + j], sum);
      float& to = c[row * c_stride + j];
      to = kAdd ? to + factor * sum : sum;
    }
  }
}

template <bool kAdd>
HWY_INLINE void any_tile(const float* a, const float* b, size_t b_stride, float factor, float* c, size_t c_stride, size_t rows, size_t k,
                         size_t width) {
  size_t row = 0;
  for (; row + 4 <= rows; row += 4) tile_rows<4, kAdd>(a + row * k, b, b_stride, factor, c + row * c_stride, c_stride, k, width);
  for (; row < rows; ++row) tile_rows<1, kAdd>(a + row * k, b, b_stride, factor, c + row * c_stride, c_stride, k, width);
}

void tile(const float* a, const float* b, float* c, size_t rows, size_t k, size_t n, size_t width) {
  any_tile<false>(a, b, n, 1, c, n, rows, k, width);
}

void adding_tile(const float* a, const float* b, size_t b_stride, float factor, float* c, size_t c_stride, size_t rows, size_t k, size_t width) {
  any_tile<true>(a, b, b_stride, factor, c, c_stride, rows, k, width);
}

}  // namespace veneer::patch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veneer::patch {
namespace {

HWY_EXPORT(tile);
HWY_EXPORT(adding_tile);

// A tile's part of b (for the ranks of adapters) and its part of c stay in L2.
constexpr size_t kTileRows = 32;
constexpr size_t kTileColumns = 512;
// Multiplications below which one thread does it all.
constexpr size_t kSerial = size_t{1} << 18;

}  // namespace

void matmul(const float* a, const float* b, float* c, size_t m, size_t k, size_t n) {
  if (m == 0 || n == 0) return;
  const size_t row_tiles = (m + kTileRows - 1) / kTileRows, column_tiles = (n + kTileColumns - 1) / kTileColumns;
  const size_t tiles = row_tiles * column_tiles;
  const size_t grain = std::max<size_t>(1, kSerial / (kTileRows * kTileColumns * std::max<size_t>(k, 1)));
  parallel_for(tiles, grain, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      const size_t row = t / column_tiles * kTileRows, column = t % column_tiles * kTileColumns;
      HWY_DYNAMIC_DISPATCH(tile)
      (a + row * k, b + column, c + row * n + column, std::min(kTileRows, m - row), k, n, std::min(kTileColumns, n - column));
    }
  });
}

void add_product(const float* a, size_t k, const float* b, size_t b_stride, float factor, const Tile& tile, const TileValues& c) {
  const auto rows = static_cast<size_t>(tile.rows), columns = static_cast<size_t>(tile.columns), c_stride = static_cast<size_t>(c.stride);
  // Columns outside, so that a part of b is read once for all rows.
  for (size_t column = 0; column < columns; column += kTileColumns) {
    const size_t width = std::min(kTileColumns, columns - column);
    HWY_DYNAMIC_DISPATCH(adding_tile)(a, b + column, b_stride, factor, c.data + column, c_stride, rows, k, width);
  }
}

}  // namespace veneer::patch
#endif  // HWY_ONCE
