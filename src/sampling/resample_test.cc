#include "sampling/resample.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

Tensor row(std::initializer_list<float> v) { return Tensor::from(Shape{1, 1, 1, static_cast<int64_t>(v.size())}, std::vector<float>(v)); }

TEST(Resample, NearestExactTakesTheElementUnderTheCentre) {
  EXPECT_THAT(values(resample(row({1, 2, 3, 4, 5}), 2, 1, ResampleMethod::nearest_exact)), ElementsAre(2, 4));
  EXPECT_THAT(values(resample(row({1, 2}), 4, 1, ResampleMethod::nearest_exact)), ElementsAre(1, 1, 2, 2));
}

TEST(Resample, BilinearMixesTwoNeighboursAndHoldsTheBorder) {
  EXPECT_THAT(values(resample(row({0, 4}), 4, 1, ResampleMethod::bilinear)), ElementsAre(0, 1, 3, 4));
}

TEST(Resample, AreaIsTheMeanOfWhatTheTargetCovers) {
  EXPECT_THAT(values(resample(row({0, 2, 4, 6, 8, 10}), 2, 1, ResampleMethod::area)), Pointwise(FloatNear(1e-6F), {2, 8}));
  EXPECT_THAT(values(resample(row({0, 3, 6}), 2, 1, ResampleMethod::area)), Pointwise(FloatNear(1e-6F), {1.5, 4.5}));
}

TEST(Resample, BicubicOvershootsNextToAStep) {
  const auto v = values(resample(row({0, 0, 0, 1, 1, 1}), 12, 1, ResampleMethod::bicubic));
  EXPECT_LT(v[3], 0.0F);
  EXPECT_GT(v[8], 1.0F);
}

TEST(Resample, EveryMethodKeepsAConstantPicture) {
  const Tensor grey = filled(Shape{2, 3, 5, 7}, 0.2F);
  for (const auto method : {ResampleMethod::nearest_exact, ResampleMethod::bilinear, ResampleMethod::area, ResampleMethod::bicubic,
                            ResampleMethod::bislerp, ResampleMethod::lanczos}) {
    for (const auto& [width, height] : {std::pair(3, 11), std::pair(14, 2), std::pair(7, 5)}) {
      const Tensor out = resample(grey, width, height, method);
      EXPECT_EQ(out.shape(), (Shape{2, 3, height, width}));
      EXPECT_THAT(values(out), Each(FloatNear(0.2F, 1e-5F))) << to_string(method);  // 0.2 is 51/255
    }
  }
}

TEST(Resample, TheSameSizeGivesTheSameValues) {
  const Tensor in = counting(Shape{1, 2, 3, 4});
  for (const auto method : {ResampleMethod::nearest_exact, ResampleMethod::bilinear, ResampleMethod::area, ResampleMethod::bicubic}) {
    EXPECT_EQ(values(resample(in, 4, 3, method)), values(in)) << to_string(method);
  }
}

TEST(Resample, CenterCropCutsTheLongerAxisAtBothEnds) {
  EXPECT_THAT(values(resample(row({1, 2, 3, 4, 5}), 1, 1, ResampleMethod::nearest_exact, Crop::center)), ElementsAre(3));
  // (6 - 3) / 2 = 1.5 rounds to the even 2.
  const Tensor in = counting(Shape{1, 1, 3, 6});
  EXPECT_THAT(values(resample(in, 2, 1, ResampleMethod::nearest_exact, Crop::disabled)).size(), 2U);
  EXPECT_THAT(values(resample(in, 2, 2, ResampleMethod::nearest_exact, Crop::center)), ElementsAre(2, 3, 14, 15));
}

TEST(Resample, BislerpTurnsVectorsAndKeepsTheirLength) {
  const Tensor in = Tensor::from(Shape{1, 2, 1, 2}, std::vector<float>{1, 0, 0, 1});  // (1, 0) and (0, 1)
  const auto v = values(resample(in, 4, 1, ResampleMethod::bislerp));
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(std::hypot(v[i], v[4 + i]), 1.0, 1e-6);
  EXPECT_NEAR(v[1], std::cos(std::acos(0.0) * 0.25), 1e-6);
}

TEST(Resample, BislerpOfZeroAndOppositeVectorsStaysFinite) {
  const Tensor in = Tensor::from(Shape{1, 2, 1, 3}, std::vector<float>{0, 1, -1, 0, 2, -2});
  for (const float v : values(resample(in, 9, 2, ResampleMethod::bislerp))) EXPECT_TRUE(std::isfinite(v));
}

TEST(Resample, LanczosWorksOnBytes) {
  // 0.5 is stored as 127.
  EXPECT_THAT(values(resample(row({0.5F, 0.5F}), 2, 1, ResampleMethod::lanczos)), Each(127.0F / 255.0F));
  // Out of range values are cut, NaN is 0.
  EXPECT_THAT(values(resample(row({-3.0F, 7.0F, NAN}), 3, 1, ResampleMethod::lanczos)), ElementsAre(0, 1, 0));
}

TEST(Resample, LanczosKeepsTheColourOfTransparentPixelsOut) {
  // Left: opaque red. Right: transparent white. No green may come in.
  const Tensor in = Tensor::from(Shape{1, 4, 1, 2}, std::vector<float>{1, 1, 0, 1, 0, 1, 1, 0});
  const auto v = values(resample(in, 8, 1, ResampleMethod::lanczos));
  for (size_t x = 0; x < 8; ++x) {
    if (v[24 + x] > 0) {
      EXPECT_EQ(v[8 + x], 0) << x;
    }
  }
  EXPECT_EQ(v[0], 1);
}

TEST(Resample, OneElementCanBecomeAnySize) {
  for (const auto method : {ResampleMethod::nearest_exact, ResampleMethod::bilinear, ResampleMethod::area, ResampleMethod::bicubic,
                            ResampleMethod::bislerp, ResampleMethod::lanczos}) {
    EXPECT_THAT(values(resample(filled(Shape{1, 1, 1, 1}, 1.0F), 5, 3, method)), Each(FloatNear(1.0F, 1e-6F))) << to_string(method);
  }
}

TEST(Resample, RefusesSizesOutOfRange) {
  const Tensor in = filled(Shape{1, 1, 2, 2}, 0);
  EXPECT_THROW(resample(in, 0, 1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(in, 1, -1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(in, int64_t{1} << 40, 1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(filled(Shape{1, 1, 0, 2}, 0), 1, 1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(filled(Shape{1, 2, 2}, 0), 1, 1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(Tensor(), 1, 1, ResampleMethod::area), Error);
  EXPECT_THROW(resample(filled(Shape{1, 5, 2, 2}, 0), 1, 1, ResampleMethod::lanczos), Error);
}

TEST(Resample, RefusesAnAspectRatioThatLeavesNothing) {
  EXPECT_THROW(resample(filled(Shape{1, 1, 1, 2}, 0), 1, 1000, ResampleMethod::area, Crop::center), Error);
}

TEST(Resample, ListsTheMethodsWhenOneIsUnknown) {
  try {
    resample_method_from_string("cubic");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.find("allowed"), "nearest-exact, bilinear, area, bicubic, bislerp, lanczos");
  }
}

}  // namespace
}  // namespace veneer::sampling
