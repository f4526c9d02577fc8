#include "sampling/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

TEST(Rng, IsTheMersenneTwisterOfItsAuthors) {
  TorchGenerator generator(5489);
  EXPECT_EQ(generator.random_u32(), 3499211612U);
  for (int i = 2; i < 10000; ++i) generator.random_u32();
  EXPECT_EQ(generator.random_u32(), 4123659995U);
}

TEST(Rng, IgnoresTheHighHalfOfTheSeed) {
  TorchGenerator low(77);
  TorchGenerator high(77 + (uint64_t{5} << 32));
  EXPECT_EQ(low.random_u64(), high.random_u64());
}

TEST(Rng, ReproducesTorchsFirstNormalsOfSeedZero) {
  TorchGenerator generator(0);
  EXPECT_THAT(randn(Shape{3}, generator).floats(), ElementsAre(FloatNear(1.5410F, 5e-5F), FloatNear(-0.2934F, 5e-5F), FloatNear(-2.1788F, 5e-5F)));
}

TEST(Rng, KeepsTheSecondNormalOfAPairForTheNextShortCall) {
  TorchGenerator together(3);
  const Tensor both = randn(Shape{2}, together);
  TorchGenerator apart(3);
  EXPECT_EQ(randn(Shape{1}, apart).floats()[0], both.floats()[0]);
  EXPECT_EQ(randn(Shape{1}, apart).floats()[0], both.floats()[1]);
}

TEST(Rng, SeedingDropsTheCachedNormal) {
  TorchGenerator generator(3);
  const float first = randn(Shape{1}, generator).floats()[0];
  generator.manual_seed(3);
  EXPECT_EQ(randn(Shape{1}, generator).floats()[0], first);
}

TEST(Rng, MakesTheLastSixteenAnewWhenBlocksLeaveARest) {
  TorchGenerator generator(9);
  const Tensor whole = randn(Shape{32}, generator);
  generator.manual_seed(9);
  const Tensor rest = randn(Shape{33}, generator);
  // The first block is the same, what follows overlaps the redrawn tail.
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(rest.floats()[i], whole.floats()[i]);
  EXPECT_NE(rest.floats()[20], whole.floats()[20]);
}

TEST(Rng, NormalsHaveMeanZeroAndVarianceOne) {
  TorchGenerator generator(1);
  const Tensor values = randn(Shape{40000}, generator);
  double sum = 0;
  double square = 0;
  for (const float v : values.floats()) {
    sum += v;
    square += static_cast<double>(v) * v;
  }
  EXPECT_NEAR(sum / 40000, 0.0, 0.02);
  EXPECT_NEAR(square / 40000, 1.0, 0.03);
}

TEST(Rng, HalfTypesDrawBlockByBlock) {
  TorchGenerator single(4);
  const Tensor f32 = randn(Shape{24}, single);
  TorchGenerator half(4);
  const Tensor f16 = to_dtype(randn(Shape{24}, half, DType::f16), DType::f32);
  EXPECT_NEAR(f16.floats()[3], f32.floats()[3], 1e-2);
  // 16 + 16 draws against 24 + 16: the tails differ.
  EXPECT_GT(std::abs(f16.floats()[20] - f32.floats()[20]), 1e-3);
}

TEST(Rng, UniformsStayBelowOneInHalfTypes) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    TorchGenerator generator(12);
    const Tensor values = to_dtype(rand(Shape{20000}, generator, dtype), DType::f32);
    for (const float v : values.floats()) {
      ASSERT_GE(v, 0.0F);
      ASSERT_LT(v, 1.0F);
    }
  }
}

TEST(Rng, RefusesDtypesWithoutRandomValues) {
  TorchGenerator generator(0);
  EXPECT_THROW(randn(Shape{2}, generator, DType::f64), Error);
  EXPECT_THROW(rand(Shape{2}, generator, DType::i64), Error);
}

TEST(Rng, MakesNothingForNoElements) {
  TorchGenerator generator(0);
  EXPECT_EQ(randn(Shape{0, 4}, generator).num_elements(), 0);
}

}  // namespace
}  // namespace veneer::sampling
