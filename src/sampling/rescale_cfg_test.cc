#include "sampling/rescale_cfg.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/rng.h"
#include "sampling/test_network.h"

namespace veneer::sampling {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

const Shape kShape{1, 1, 1, 2};
Tensor two(float a, float b) { return Tensor::from(kShape, std::vector<float>{a, b}); }

// sigma 1: variance 2. x = (4, 0), so x / 2 = (2, 0). cond = (1, 1): v = (1, -1) * sqrt(2). uncond = (2, 0): v = 0. At scale 3, v = 3 * (1, -1) *
// sqrt(2), which rescaled is (1, -1) * sqrt(2) again; half of each: 2 * (1, -1) * sqrt(2). Clean: (2, 0) - 2 * (1, -1).
TEST(RescaleCfg, GivesTheValuesWorkedOutByHand) {
  const Tensor out = rescale_cfg(two(4, 0), 1, {two(1, 1), two(2, 0)}, 3, 0.5);
  EXPECT_THAT(values(out), ElementsAre(FloatNear(0, 1e-5F), FloatNear(2, 1e-5F)));
}

TEST(RescaleCfg, WithMultiplierZeroIsPlainGuidance) {
  const Tensor out = rescale_cfg(two(4, -3), 2, {two(1, 1), two(2, 0.5F)}, 3, 0);
  EXPECT_THAT(values(out), ElementsAre(FloatNear(2 + (1 - 2) * 3, 1e-5F), FloatNear(0.5F + (1 - 0.5F) * 3, 1e-5F)));
}

TEST(RescaleCfg, KeepsTheDeviationOfThePositiveVelocityInEachRow) {
  TorchGenerator generator(3);
  const Shape shape{2, 3, 4, 5};
  const Tensor x = randn(shape, generator);
  const Predictions p{randn(shape, generator), randn(shape, generator)};
  const float sigma = 0.7F;
  const Tensor out = rescale_cfg(x, sigma, p, 6, 1);
  for (int64_t n = 0; n < 2; ++n) {
    const auto deviation = [&](const Tensor& clean) {
      std::vector<double> v;
      double mean = 0;
      for (int64_t i = n * 60; i < n * 60 + 60; ++i) {
        v.push_back(static_cast<double>(x.data<float>()[i]) / 1.49 - static_cast<double>(clean.data<float>()[i]));
        mean += v.back() / 60;
      }
      double sum = 0;
      for (const double value : v) sum += (value - mean) * (value - mean);
      return std::sqrt(sum / 59);
    };
    EXPECT_NEAR(deviation(out), deviation(p.cond), 1e-5);
  }
  EXPECT_THAT(values(rescale_cfg(x.slice(1, 1), sigma, {p.cond.slice(1, 1), p.uncond.slice(1, 1)}, 6, 1)),
              Pointwise(FloatNear(0), values(out.slice(1, 1))));
}

TEST(RescaleCfg, AtScaleOneWithoutTheNegativeIsThePositive) {
  const Tensor out = rescale_cfg(two(4, -3), 2, {two(1, -1), {}}, 1, 0.7);
  EXPECT_THAT(values(out), ElementsAre(FloatNear(1, 1e-5F), FloatNear(-1, 1e-5F)));
}

TEST(RescaleCfg, StaysFiniteWhereThereIsNoContrastOrNoNoise) {
  EXPECT_THAT(values(rescale_cfg(two(0, 0), 1, {two(1, 1), two(0, 0)}, 2, 1)), ElementsAre(FloatNear(2, 1e-6F), FloatNear(2, 1e-6F)));
  EXPECT_THAT(values(rescale_cfg(two(1, 2), 0, {two(1, 2), two(0, 0)}, 2, 1)), ElementsAre(FloatNear(2, 1e-6F), FloatNear(4, 1e-6F)));
}

}  // namespace
}  // namespace veneer::sampling
