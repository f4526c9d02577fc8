#include "sampling/schedules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sampling/beta_quantile.h"
#include "sampling/sigma_curves.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class EverySchedule : public ::testing::TestWithParam<ScheduleDef> {};

TEST_P(EverySchedule, FallsToZeroForAnyNumberOfSteps) {
  for (const auto& ms : {ModelSampling::discrete(Prediction::eps), ModelSampling::flow(3.0), ModelSampling::distilled(Prediction::lcm)}) {
    for (const int steps : {1, 2, 3, 7, 20, 300, 2000}) {
      const auto sigmas = make_sigmas(ms, GetParam().name, steps, 1.0, false);
      ASSERT_GE(sigmas.size(), 2U) << steps;
      EXPECT_TRUE(std::ranges::is_sorted(sigmas, std::greater<>())) << steps;
      EXPECT_EQ(sigmas.back(), 0.0F);
      EXPECT_GT(sigmas[0], 0.0F);
      EXPECT_TRUE(std::isfinite(sigmas[0]));
    }
  }
}

TEST_P(EverySchedule, KeepsTheEndForPartialDenoising) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  const auto whole = make_sigmas(ms, GetParam().name, 20, 1.0, false);
  const auto part = make_sigmas(ms, GetParam().name, 10, 0.5, false);
  EXPECT_LE(part.size(), 11U);
  EXPECT_TRUE(std::equal(part.rbegin(), part.rend(), whole.rbegin()));
}

INSTANTIATE_TEST_SUITE_P(All, EverySchedule, ::testing::ValuesIn(all_schedules().begin(), all_schedules().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

TEST(Schedules, DiscardingThePenultimateKeepsTheCount) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  const auto longer = make_sigmas(ms, "normal", 6, 1.0, false);
  const auto discarded = make_sigmas(ms, "normal", 5, 1.0, true);
  ASSERT_EQ(discarded.size(), 6U);
  EXPECT_EQ(discarded[4], longer[4]);
  EXPECT_EQ(discarded[5], 0.0F);
}

TEST(Schedules, UnknownNamesAreAnsweredWithTheAllowedOnes) {
  try {
    find_schedule("quadratic");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("allowed")), HasSubstr("karras, exponential"));
  }
}

TEST(Schedules, RefusesStepsAndDenoiseOutOfRange) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  EXPECT_THROW(make_sigmas(ms, "normal", 0, 1.0, false), Error);
  EXPECT_THROW(make_sigmas(ms, "normal", 10001, 1.0, false), Error);
  EXPECT_THROW(make_sigmas(ms, "normal", 20, 1e-9, false), Error);
  EXPECT_THROW(make_sigmas(ms, "normal", 20, std::nan(""), false), Error);
}

TEST(Schedules, NoDenoisingIsNoSteps) { EXPECT_TRUE(make_sigmas(ModelSampling::discrete(Prediction::eps), "normal", 20, 0.0, false).empty()); }

TEST(Schedules, CutsBetweenSteps) {
  const std::vector<float> all{4, 3, 2, 1, 0};
  EXPECT_THAT(cut_sigmas(all, -1, -1, false), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(cut_sigmas(all, 1, 3, false), ElementsAre(3, 2, 1));
  EXPECT_THAT(cut_sigmas(all, 1, 3, true), ElementsAre(3, 2, 0));
  EXPECT_THAT(cut_sigmas(all, -1, 100, true), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_TRUE(cut_sigmas(all, 4, -1, false).empty());
  EXPECT_TRUE(cut_sigmas({}, 0, 3, true).empty());
}

TEST(BetaQuantile, InvertsTheUniformAndTheArcsineDistribution) {
  constexpr double kPi = 3.14159265358979323846;
  for (const double p : {0.0, 1e-6, 0.1, 0.5, 0.77, 1.0}) {
    EXPECT_NEAR(beta_quantile(p, 1.0, 1.0), p, 1e-12);
    EXPECT_NEAR(beta_quantile(p, 0.5, 0.5), std::pow(std::sin(kPi * p / 2), 2), 1e-12);
    EXPECT_NEAR(beta_quantile(p, 3.0, 1.0), std::cbrt(p), 1e-12);
  }
  EXPECT_EQ(beta_quantile(0.5, 0.6, 0.6), 0.5);
}

TEST(SigmaCurves, MeetTheirEnds) {
  const auto karras = karras_sigmas(5, 0.1, 10.0, 7.0);
  EXPECT_NEAR(karras[0], 10.0F, 1e-4);
  EXPECT_NEAR(karras[4], 0.1F, 1e-6);
  const auto poly = polyexponential_sigmas(5, 0.1, 10.0, 1.0);
  const auto exponential = exponential_sigmas(5, 0.1, 10.0);
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(poly[i], exponential[i], 1e-5);
  const auto vp = vp_sigmas(4);
  EXPECT_NEAR(vp[0], std::sqrt(std::expm1(19.9 / 2 + 0.1)), 1e-2);
  EXPECT_EQ(vp.back(), 0.0F);
  const auto laplace = laplace_sigmas(3, 0.02, 14.0);
  EXPECT_THAT(laplace, ElementsAre(14.0F, ::testing::FloatNear(1.0F, 1e-5F), 0.02F));
}

TEST(SigmaCurves, SdTurboTakesWholeHundreds) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  const auto sigmas = sd_turbo_sigmas(ms, 2, 0.5);
  EXPECT_THAT(sigmas, ElementsAre(ms.sigma(499.0F), ms.sigma(399.0F), 0.0F));
}

TEST(SigmaCurves, RefuseParametersOutOfRange) {
  EXPECT_THROW(karras_sigmas(0, 0.1, 1.0), Error);
  EXPECT_THROW(karras_sigmas(3, 0.1, 1.0, 0.0), Error);
  EXPECT_THROW(exponential_sigmas(3, 0.0, 1.0), Error);
  EXPECT_THROW(beta_sigmas(ModelSampling::flow(1.0), 3, 0.0, 1.0), Error);
  EXPECT_THROW(laplace_sigmas(3, 2.0, 1.0), Error);
  EXPECT_THROW(sd_turbo_sigmas(ModelSampling::flow(1.0), 3, 1.5), Error);
}

}  // namespace
}  // namespace veneer::sampling
