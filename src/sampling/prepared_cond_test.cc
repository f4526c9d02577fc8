#include "sampling/prepared_cond.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::SizeIs;

const Shape kLatent{1, 4, 16, 12};

ModelSampling eps() { return ModelSampling::discrete(Prediction::eps); }
PreparedConds prepare_positive(const Conditioning& positive) { return prepare_conds(positive, {paint(0)}, kLatent, eps()); }

TEST(PreparedCond, FractionsRoundHalfToEven) {
  // 0.03125 of 16 is 0.5 -> 0, 0.21 of 12 is 2.52 -> 3; sizes are at least 1.
  const auto conds = prepare_positive(set_area_percentage({paint(1)}, {.y = 0.03125, .x = 0.21, .height = 0.03125, .width = 0.5}, 1));
  EXPECT_EQ(conds.positive[0].area, (Box{0, 3, 1, 6}));
}

TEST(PreparedCond, RefusesAreasThatCannotBeUsed) {
  for (const Box& box : {Box{16, 0, 1, 1}, Box{0, 12, 1, 1}, Box{-1, 0, 4, 4}, Box{0, 0, 0, 4}, Box{0, 0, 4, INT64_MAX}}) {
    EXPECT_THROW(prepare_positive(set_area({paint(1)}, box, 1)), Error) << box.y << " " << box.x;
  }
  EXPECT_THROW(prepare_positive(set_area_percentage({paint(1)}, {.y = 1.0}, 1)), Error);
  EXPECT_THROW(prepare_positive(set_area_percentage({paint(1)}, {.width = 1e300}, 1)), Error);
  EXPECT_THROW(prepare_positive(set_area_percentage({paint(1)}, {.x = std::nan("")}, 1)), Error);
}

TEST(PreparedCond, TheErrorNamesTheEntry) {
  try {
    prepare_positive({paint(1), set_area({paint(1)}, Box{99, 0, 1, 1}, 1)[0]});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_EQ(error.find("entry"), "1");
  }
}

TEST(PreparedCond, RefusesNumbersThatAreNone) {
  EXPECT_THROW(prepare_positive(set_area_strength({paint(1)}, std::nan(""))), Error);
  EXPECT_THROW(prepare_positive(set_timestep_range({paint(1)}, HUGE_VAL, 1)), Error);
  EXPECT_THROW(prepare_positive(set_mask({paint(1)}, filled(Shape{1, 16, 12}, NAN), 1, false)), Error);
  EXPECT_THROW(prepare_positive({ConditioningEntry{}}), Error);
  EXPECT_THROW(prepare_positive({paint(1, 0)}), Error);
}

TEST(PreparedCond, AOnePixelMaskGetsAnAreaOfEightByEight) {
  Tensor mask = filled(Shape{16, 12}, 0);
  mask.mutable_data<float>()[15 * 12 + 10] = 1;
  EXPECT_EQ(prepare_positive(set_mask({paint(1)}, mask, 1, true)).positive[0].area, (Box{15, 10, 8, 8}));
  EXPECT_EQ(prepare_positive(set_mask({paint(1)}, filled(Shape{16, 12}, 0), 1, true)).positive[0].area, (Box{0, 0, 8, 8}));
  EXPECT_FALSE(prepare_positive(set_mask({paint(1)}, mask, 1, false)).positive[0].area.has_value());
}

TEST(PreparedCond, MasksAreResizedToTheLatent) {
  EXPECT_EQ(prepare_positive(set_mask({paint(1)}, filled(Shape{3, 128, 96}, 1), 1, false)).positive[0].mask.shape(), (Shape{3, 16, 12}));
}

TEST(PreparedCond, RangesBecomeNoiseLevels) {
  const auto whole = prepare_positive({paint(1)}).positive[0];
  EXPECT_GT(whole.sigma_start, 1e6);
  EXPECT_EQ(whole.sigma_end, 0);
  const auto part = prepare_positive(set_timestep_range({paint(1)}, 0.2, 0.8)).positive[0];
  EXPECT_GT(part.sigma_start, part.sigma_end);
  EXPECT_LT(part.sigma_start, eps().sigma_max());
}

TEST(PreparedCond, AnAreaGetsACounterpartFromTheSmallestEntryAroundIt) {
  const Conditioning positive = set_area({paint(1)}, Box{2, 2, 4, 4}, 0.5);
  const Conditioning negative = {paint(-1), set_area({paint(-2)}, Box{0, 0, 16, 12}, 1)[0], set_area({paint(-3)}, Box{1, 1, 6, 6}, 1)[0],
                                 set_area({paint(-4)}, Box{3, 3, 1, 1}, 1)[0]};
  const auto conds = prepare_conds(positive, negative, kLatent, eps());
  ASSERT_THAT(conds.negative, SizeIs(5));
  EXPECT_EQ(conds.negative[4].area, (Box{2, 2, 4, 4}));
  EXPECT_EQ(conds.negative[4].strength, 0.5F);
  EXPECT_EQ(conds.negative[4].context.floats()[0], -3);
  // And the negative's areas get theirs: only the 1 x 1 one lies inside of a positive area.
  ASSERT_THAT(conds.positive, SizeIs(2));
  EXPECT_EQ(conds.positive[1].area, (Box{3, 3, 1, 1}));
}

TEST(PreparedCond, NoCounterpartForAnAreaThatIsThere) {
  const Conditioning area = set_area({paint(1)}, Box{2, 2, 4, 4}, 1);
  EXPECT_THAT(prepare_conds(area, area, kLatent, eps()).negative, SizeIs(1));
}

class AnyHooks final : public CondHooks {
 public:
  Fingerprint fingerprint() const override { return {}; }
};

TEST(PreparedCond, ACounterpartHasTheHooksOfTheAreaItBelongsTo) {
  Conditioning positive = set_area({paint(1)}, Box{2, 2, 4, 4}, 1);
  positive[0].hooks = std::make_shared<AnyHooks>();
  ConditioningEntry around = paint(-1);
  around.hooks = std::make_shared<AnyHooks>();
  const auto conds = prepare_conds(positive, {around}, kLatent, eps());
  ASSERT_THAT(conds.negative, SizeIs(2));
  EXPECT_EQ(conds.negative[0].hooks, around.hooks);
  EXPECT_EQ(conds.negative[1].hooks, positive[0].hooks);
  EXPECT_EQ(conds.negative[1].context.floats()[0], -1);
}

TEST(PreparedCond, ATextEncodedForAPartOfTheRunHoldsInBothRanges) {
  Conditioning entry = set_timestep_range({paint(1)}, 0.2, 0.8);
  entry[0].clip_start_percent = 0.5;
  entry[0].clip_end_percent = 0.9;
  const auto both = prepare_positive(entry).positive[0];
  EXPECT_EQ(both.sigma_start, eps().percent_to_sigma(0.5));
  EXPECT_EQ(both.sigma_end, eps().percent_to_sigma(0.8));
  entry[0].clip_start_percent = 0.9;
  entry[0].clip_end_percent = 1;
  const auto apart = prepare_positive(entry).positive[0];
  EXPECT_LT(apart.sigma_start, apart.sigma_end);  // never
  entry[0].clip_start_percent = std::nan("");
  EXPECT_THROW(prepare_positive(entry), Error);
}

class AnyControl final : public Control {
 public:
  Fingerprint fingerprint() const override { return {}; }
};

TEST(PreparedCond, AControlOfThePositiveGoesToTheNegativeWhenAsked) {
  ConditioningEntry controlled = paint(1);
  controlled.control = std::make_shared<AnyControl>();
  EXPECT_EQ(prepare_positive({controlled}).negative[0].control, nullptr);
  controlled.control_apply_to_uncond = true;
  EXPECT_EQ(prepare_positive({controlled}).negative[0].control, controlled.control);
  // More controls than negative entries: one entry is evaluated under each.
  ConditioningEntry other = controlled;
  other.control = std::make_shared<AnyControl>();
  const auto both = prepare_positive({controlled, other});
  ASSERT_THAT(both.negative, SizeIs(2));
  EXPECT_EQ(both.negative[1].control, other.control);
  // A negative with its own control keeps it.
  EXPECT_EQ(prepare_conds({controlled}, {other}, kLatent, eps()).negative[0].control, other.control);
}

}  // namespace
}  // namespace veneer::sampling
