#include "tensor/tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/convert.h"
#include "tensor/largest_magnitude.h"

namespace veneer {
namespace {

Tensor numbers(const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::f32);
  for (size_t i = 0; i < out.floats().size(); ++i) out.mutable_floats()[i] = static_cast<float>(i % 97) - 40.0F;
  return out;
}

TEST(Tile, HasTheValuesOfTheWholeTensorInEveryDtypeAndTouchesNothingElse) {
  const Tensor plain = numbers({7, 5, 9});
  constexpr Tile kTile{.first_row = 2, .rows = 4, .first_column = 3, .columns = 37};
  constexpr int64_t kStride = 40;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8_e4m3fn}) {
    for (const float scale : {1.0F, 0.5F}) {
      if (scale != 1 && dtype != DType::f8_e4m3fn) continue;  // only fp8 has one
      const Tensor stored = scale == 1 ? to_dtype(plain, dtype) : to_dtype(plain, dtype).with_scale(scale);
      const Tensor whole = to_dtype(stored, DType::f32);
      std::vector<float> out(4 * kStride, -1.0F);
      copy_to_f32(stored, kTile, {out.data(), kStride});
      for (int64_t r = 0; r < kTile.rows; ++r) {
        for (int64_t c = 0; c < kStride; ++c) {
          const float want = c < kTile.columns ? whole.data<float>()[(kTile.first_row + r) * 45 + kTile.first_column + c] : -1.0F;
          EXPECT_EQ(out[static_cast<size_t>(r * kStride + c)], want) << to_string(dtype) << " " << r << " " << c;
        }
      }
    }
  }
}

TEST(Tile, PrefetchingReachesOverNoEnd) {
  const Tensor tensor = numbers({3, 20});
  for (const Tile& tile : {Tile{0, 3, 0, 20}, Tile{2, 5, 10, 50}, Tile{3, 1, 0, 20}, Tile{0, 3, 20, 20}}) prefetch(tensor, tile);
  EXPECT_EQ(tensor.floats()[0], -40.0F);
}

TEST(Tile, TheLargestMagnitudeIsThatOfItsColumnsAlone) {
  constexpr size_t kStride = 50, kRows = 3;
  for (const size_t columns : {size_t{1}, size_t{31}, size_t{32}, size_t{37}}) {
    std::vector<float> values(kStride * kRows, 0.5F);
    for (size_t r = 0; r < kRows; ++r) values[r * kStride + columns] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(largest_magnitude(values.data(), kStride, kRows, columns), 0.5F) << columns;
    for (const size_t at : {size_t{0}, columns - 1}) {
      std::vector<float> spoilt = values;
      spoilt[2 * kStride + at] = -3.0F;
      EXPECT_EQ(largest_magnitude(spoilt.data(), kStride, kRows, columns), 3.0F);
      spoilt[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(largest_magnitude(spoilt.data(), kStride, kRows, columns)));
    }
  }
}

}  // namespace
}  // namespace veneer
