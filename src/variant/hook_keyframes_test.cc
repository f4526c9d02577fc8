#include "variant/hook_keyframes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "veneer/error.h"

namespace veneer::variant {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

sampling::ModelSampling eps() { return sampling::ModelSampling::discrete(sampling::Prediction::eps); }
float sigma_at(double percent) { return static_cast<float>(eps().percent_to_sigma(percent)); }

// The strengths at these shares of a run, each of them one noise level. A run from pure noise begins at the highest sigma.
std::vector<double> strengths(std::vector<HookKeyframe> keyframes, const std::vector<double>& percents) {
  const float max_sigma = percents.front() <= 0 ? eps().sigma_max() : sigma_at(percents.front());
  KeyframeWalk walk(HookKeyframes(std::move(keyframes)), eps(), max_sigma);
  std::vector<double> out;
  out.reserve(percents.size());
  for (const double percent : percents) out.push_back(walk.strength_at(percent <= 0 ? eps().sigma_max() : sigma_at(percent)));
  return out;
}

struct WalkCase {
  const char* name;
  std::vector<HookKeyframe> keyframes;
  std::vector<double> percents;
  std::vector<double> want;
};

class KeyframeWalkTable : public ::testing::TestWithParam<WalkCase> {};

TEST_P(KeyframeWalkTable, GivesTheStrengthsOfTheRun) { EXPECT_EQ(strengths(GetParam().keyframes, GetParam().percents), GetParam().want); }

INSTANTIATE_TEST_SUITE_P(
    All, KeyframeWalkTable,
    ::testing::Values(WalkCase{"NoKeyframesMeanOne", {}, {0, 0.5, 0.9}, {1, 1, 1}},
                      WalkCase{"OneHoldsThroughout", {{0.3, 0, 1}}, {0, 0.5, 0.9}, {0.3, 0.3, 0.3}},
                      WalkCase{"EachHoldsUntilTheNextStarts", {{1, 0, 1}, {0, 0.5, 1}}, {0, 0.25, 0.5, 0.75}, {1, 1, 0, 0}},
                      WalkCase{"TheOneOfItsVeryStartCounts", {{1, 0, 1}, {0, 0.5, 1}}, {0, 0.499, 0.501}, {1, 1, 0}},
                      WalkCase{"TheFirstHoldsBeforeItStarts", {{0.7, 0.4, 1}, {0.2, 0.8, 1}}, {0, 0.2, 0.5, 0.9}, {0.7, 0.7, 0.7, 0.2}},
                      WalkCase{"ThreeInTurn", {{1, 0, 1}, {2, 0.3, 1}, {3, 0.6, 1}}, {0, 0.2, 0.4, 0.5, 0.7}, {1, 1, 2, 2, 3}},
                      WalkCase{"OrderOfAddingDoesNotMatter", {{3, 0.6, 1}, {1, 0, 1}, {2, 0.3, 1}}, {0, 0.2, 0.4, 0.5, 0.7}, {1, 1, 2, 2, 3}},
                      WalkCase{
                          "AGuaranteedStepIsMadeThoughTheNextHasStarted", {{1, 0, 1}, {2, 0.3, 1}, {3, 0.4, 1}}, {0, 0.5, 0.6, 0.7}, {1, 2, 3, 3}},
                      WalkCase{"WithoutGuaranteeTheyAreSkipped", {{1, 0, 1}, {2, 0.3, 0}, {3, 0.4, 0}}, {0, 0.5, 0.6}, {1, 3, 3}},
                      WalkCase{"SeveralGuaranteedSteps", {{1, 0, 1}, {2, 0.3, 3}, {3, 0.4, 1}}, {0, 0.5, 0.6, 0.7, 0.8}, {1, 2, 2, 2, 3}},
                      WalkCase{"AGuaranteeBeforeTheRunDoesNotCount", {{1, 0, 1}, {2, 0.2, 5}, {3, 0.3, 5}, {4, 0.7, 0}}, {0.5, 0.6, 0.7}, {3, 3, 4}},
                      WalkCase{"OfTwoAtTheBeginningTheLastCounts", {{1, 0, 1}, {2, 0, 1}, {3, 0.5, 1}}, {0, 0.4, 0.6}, {2, 2, 3}},
                      WalkCase{"OfTwoAtOnePlaceEachGetsItsSteps", {{1, 0, 1}, {2, 0.5, 1}, {3, 0.5, 1}}, {0, 0.6, 0.7, 0.8}, {1, 2, 3, 3}},
                      WalkCase{"OneAtTheEndIsNotReached", {{1, 0, 1}, {9, 1, 1}}, {0, 0.5, 0.999}, {1, 1, 1}},
                      // Of a first keyframe that starts within the run the guarantee counts from the run's first step.
                      WalkCase{"TheFirstsGuaranteeHoldsFromStepZero", {{1, 0.1, 2}, {2, 0.2, 1}}, {0, 0.5, 0.6}, {1, 1, 2}}),
    [](const auto& param) { return param.param.name; });

TEST(KeyframeWalk, TheSameLevelTwiceIsOneStep) {
  KeyframeWalk walk(HookKeyframes({{1, 0, 1}, {2, 0.3, 2}, {3, 0.4, 1}}), eps(), eps().sigma_max());
  EXPECT_EQ(walk.strength_at(sigma_at(0.1)), 1);
  for (int call = 0; call < 5; ++call) EXPECT_EQ(walk.strength_at(sigma_at(0.5)), 2);
  EXPECT_EQ(walk.strength_at(sigma_at(0.6)), 2);
  EXPECT_EQ(walk.strength_at(sigma_at(0.7)), 3);
}

TEST(KeyframeWalk, NeverGoesBack) {
  KeyframeWalk walk(HookKeyframes({{1, 0, 1}, {2, 0.5, 1}}), eps(), eps().sigma_max());
  walk.strength_at(sigma_at(0.1));
  EXPECT_EQ(walk.strength_at(sigma_at(0.6)), 2);
  EXPECT_EQ(walk.strength_at(sigma_at(0.2)), 2);  // a sampler that looks back at a higher level
}

TEST(HookKeyframes, AreSortedAndKeepTheOrderOfEqualStarts) {
  const HookKeyframes keyframes = HookKeyframes({{1, 0.5}, {2, 0.0}}).with(std::vector<HookKeyframe>{{3, 0.5}, {4, 0.25}});
  std::vector<double> order;
  for (const HookKeyframe& keyframe : keyframes.list()) order.push_back(keyframe.strength);
  EXPECT_THAT(order, ElementsAre(2, 4, 1, 3));
}

TEST(HookKeyframes, VaryWhenTwoStrengthsDiffer) {
  EXPECT_FALSE(HookKeyframes().varies());
  EXPECT_FALSE(HookKeyframes({{0.5, 0}, {0.5, 0.7}}).varies());
  EXPECT_TRUE(HookKeyframes({{0.5, 0}, {0.6, 0.7}}).varies());
}

TEST(HookKeyframes, RefuseWhatIsNoNumber) {
  for (const HookKeyframe& bad :
       {HookKeyframe{NAN, 0, 1}, HookKeyframe{HUGE_VAL, 0, 1}, HookKeyframe{1, NAN, 1}, HookKeyframe{1, -HUGE_VAL, 1}, HookKeyframe{1, 0, -1}}) {
    EXPECT_THROW(HookKeyframes({HookKeyframe{}, bad}), Error) << bad.strength << " " << bad.start_percent;
    EXPECT_THROW(HookKeyframes().with({&bad, 1}), Error);
  }
}

TEST(HookKeyframes, EveryNumberIsInTheFingerprint) {
  const auto of = [](const HookKeyframe& keyframe) {
    FingerprintBuilder builder;
    add_to_fingerprint(builder, HookKeyframes({keyframe}));
    return builder.finish();
  };
  EXPECT_EQ(of({1, 0.5, 1}), of({1, 0.5, 1}));
  EXPECT_NE(of({1, 0.5, 1}), of({1, 0.6, 1}));
  EXPECT_NE(of({1, 0.5, 1}), of({0.9, 0.5, 1}));
  EXPECT_NE(of({1, 0.5, 1}), of({1, 0.5, 2}));
}

TEST(KeyframeInterpolation, FollowsItsCurve) {
  const auto at = [](const char* name) { return interpolated_values(1, 0, 5, keyframe_interpolation_from_string(name)); };
  EXPECT_THAT(at("linear"), ElementsAre(1, 0.75, 0.5, 0.25, 0));
  EXPECT_THAT(at("ease_in"), ElementsAre(1, 0.9375, 0.75, 0.4375, 0));
  EXPECT_THAT(at("ease_out"), ElementsAre(1, 0.5625, 0.25, 0.0625, 0));
  const std::vector<double> both = at("ease_in_out");
  EXPECT_NEAR(both[1], 1 - (1 - std::sqrt(0.5)) / 2, 1e-6);
  EXPECT_NEAR(both[2], 0.5, 1e-6);
  EXPECT_EQ(both[4], 0);
}

TEST(KeyframeInterpolation, OfOneValueIsTheFirst) {
  EXPECT_THAT(interpolated_values(0.25, 7, 1, KeyframeInterpolation::linear), ElementsAre(0.25));
  EXPECT_THAT(interpolated_values(0.25, 7, 1, KeyframeInterpolation::ease_in), ElementsAre(0.25));
}

TEST(KeyframeInterpolation, RefusesUnknownNamesAndNumbers) {
  EXPECT_THROW(keyframe_interpolation_from_string("cubic"), Error);
  EXPECT_THROW(interpolated_values(NAN, 1, 3, KeyframeInterpolation::linear), Error);
  EXPECT_THROW(interpolated_values(0, 1, 0, KeyframeInterpolation::linear), Error);
  EXPECT_THROW(interpolated_values(0, 1, INT_MAX, KeyframeInterpolation::linear), Error);
}

TEST(SpreadKeyframes, GuaranteesAStepToTheFirstOnly) {
  const std::vector<double> given = {1, 0.5, 0};
  const std::vector<HookKeyframe> keyframes = spread_keyframes(given, 0.25, 0.75);
  ASSERT_THAT(keyframes, SizeIs(3));
  EXPECT_EQ(keyframes[1].start_percent, 0.5);
  EXPECT_EQ(keyframes[2].start_percent, 0.75);
  EXPECT_EQ(keyframes[0].guarantee_steps, 1);
  EXPECT_EQ(keyframes[1].guarantee_steps, 0);
  EXPECT_TRUE(spread_keyframes({}, 0, 1).empty());
}

}  // namespace
}  // namespace veneer::variant
