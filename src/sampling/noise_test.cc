#include "sampling/noise.h"

#include <gtest/gtest.h>

#include <vector>

#include "veneer/error.h"

namespace veneer::sampling {
namespace {

std::vector<float> row(const Tensor& batch, int64_t n) {
  const Tensor part = batch.slice(n, 1);
  return {part.floats().begin(), part.floats().end()};
}

TEST(Noise, AGeneratorGoesOnWhereTheNoiseEnded) {
  TorchGenerator generator(7);
  const Tensor first = prepare_noise(Shape{1, 4, 3, 3}, generator);
  EXPECT_EQ(row(first, 0), row(prepare_noise(Shape{1, 4, 3, 3}, 7), 0));
  TorchGenerator expected(7);
  randn(Shape{1, 4, 3, 3}, expected);
  EXPECT_EQ(generator.random_u32(), expected.random_u32());
}

TEST(Noise, WithoutIndicesIsOneDrawOverTheWholeBatch) {
  TorchGenerator generator(7);
  const Tensor want = randn(Shape{2, 4, 3, 3}, generator);
  const Tensor got = prepare_noise(Shape{2, 4, 3, 3}, 7);
  EXPECT_TRUE(std::equal(want.floats().begin(), want.floats().end(), got.floats().begin()));
}

TEST(Noise, OfAPictureDependsOnItsIndexOnly) {
  const Tensor all = prepare_noise(Shape{4, 4, 3, 3}, 7, std::vector<int64_t>{0, 1, 2, 3});
  const Tensor some = prepare_noise(Shape{2, 4, 3, 3}, 7, std::vector<int64_t>{3, 1});
  EXPECT_EQ(row(some, 0), row(all, 3));
  EXPECT_EQ(row(some, 1), row(all, 1));
}

TEST(Noise, IsSharedByEqualIndices) {
  const Tensor noise = prepare_noise(Shape{9, 4, 3, 3}, 7, std::vector<int64_t>{2, 0, 2});
  EXPECT_EQ(noise.dim(0), 3);
  EXPECT_EQ(row(noise, 0), row(noise, 2));
  EXPECT_NE(row(noise, 0), row(noise, 1));
}

TEST(Noise, RefusesIndicesOutOfRange) {
  EXPECT_THROW(prepare_noise(Shape{1, 4, 2, 2}, 7, std::vector<int64_t>{-1}), Error);
  EXPECT_THROW(prepare_noise(Shape{1, 4, 2, 2}, 7, std::vector<int64_t>{int64_t{1} << 40}), Error);
  EXPECT_THROW(prepare_noise(Shape{}, 7, std::vector<int64_t>{0}), Error);
}

TEST(Noise, OfAGeneratorStartsWithTheStartingNoiseAndGoesOn) {
  const auto source = make_generator_noise(Shape{1, 4, 3, 3}, 7);
  const Tensor first = source->draw(3.0F, 2.0F);
  EXPECT_EQ(row(first, 0), row(prepare_noise(Shape{1, 4, 3, 3}, 7), 0));
  EXPECT_NE(row(source->draw(2.0F, 1.0F), 0), row(first, 0));
}

}  // namespace
}  // namespace veneer::sampling
