#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/testing/node_bench.h"
#include "nodes/values.h"
#include "patch/kinds/values.h"

namespace veneer::nodes {
namespace {

using graph::Json;
using graph::Value;
using sampling::Conditioning;
using ::testing::ElementsAre;
using ::testing::SizeIs;
using variant::HookGroup;
using variant::HookKeyframes;

class CondPairNodes : public ::testing::Test {
 protected:
  static Value prompt(float colour) {
    Tensor context = Tensor::empty(Shape{1, 2, 2}, DType::f32);
    std::ranges::fill(context.mutable_floats(), colour);
    sampling::ConditioningEntry entry;
    entry.context = std::move(context);
    return Value::of("CONDITIONING", Conditioning{std::move(entry)});
  }
  static Value hooks(float value) {
    const auto weights = variant::make_hook_weights({{"a.weight", patch::make_diff(Tensor::from({1}, std::vector<float>{value}))}});
    return Value::of("HOOKS", HookGroup({{weights}}));
  }
  Value mask() const {
    Tensor mask = Tensor::empty(Shape{1, 2, 2}, DType::f32);
    std::ranges::fill(mask.mutable_floats(), 0.5F);
    return Value::of("MASK", std::move(mask));
  }
  static const Conditioning& of(const Value& value) { return value.get<Conditioning>(); }
  static float colour(const sampling::ConditioningEntry& entry) { return entry.context.floats()[0]; }

  NodeBench bench_;
};

TEST_F(CondPairNodes, SetEachPropertyThatIsGiven) {
  const Value given = hooks(1);
  const auto range = bench_.run("ConditioningTimestepsRange", {{"start_percent", Value::number(0.25)}, {"end_percent", Value::number(0.75)}});
  const auto out = bench_.run("PairConditioningSetProperties", {{"positive_NEW", prompt(1)},
                                                                {"negative_NEW", prompt(2)},
                                                                {"strength", Value::number(0.5)},
                                                                {"set_cond_area", text("mask bounds")},
                                                                {"mask", mask()},
                                                                {"hooks", given},
                                                                {"timesteps", range[0]}});
  ASSERT_THAT(out, SizeIs(2));
  for (const Value& value : out) {
    const sampling::ConditioningEntry& entry = of(value).at(0);
    EXPECT_EQ(entry.hooks.get(), &given.get<HookGroup>());
    EXPECT_EQ(entry.mask_strength, 0.5);
    EXPECT_EQ(entry.strength, 1);
    EXPECT_TRUE(entry.set_area_to_bounds);
    EXPECT_EQ(entry.start_percent, 0.25);
    EXPECT_EQ(entry.end_percent, 0.75);
  }
  EXPECT_EQ(colour(of(out[1])[0]), 2);
}

TEST_F(CondPairNodes, WithoutPropertiesChangeNothing) {
  const auto out =
      bench_.run("ConditioningSetProperties", {{"cond_NEW", prompt(1)}, {"strength", Value::number(0.5)}, {"set_cond_area", text("default")}});
  EXPECT_EQ(sampling::fingerprint(of(out[0])), sampling::fingerprint(of(prompt(1))));
}

TEST_F(CondPairNodes, AppendHooksToThoseThatAreThere) {
  const Value first = bench_.run("ConditioningSetProperties", {{"cond_NEW", prompt(1)}, {"set_cond_area", text("default")}, {"hooks", hooks(1)}})[0];
  const Value second = bench_.run("ConditioningSetProperties", {{"cond_NEW", first}, {"set_cond_area", text("default")}, {"hooks", hooks(2)}})[0];
  EXPECT_THAT(variant::as_hook_group(*of(second)[0].hooks).hooks(), SizeIs(2));
}

TEST_F(CondPairNodes, AndCombinePutsTheChangedOnesBehind) {
  const auto out = bench_.run("PairConditioningSetPropertiesAndCombine", {{"positive", prompt(1)},
                                                                          {"negative", prompt(2)},
                                                                          {"positive_NEW", prompt(3)},
                                                                          {"negative_NEW", prompt(4)},
                                                                          {"set_cond_area", text("default")},
                                                                          {"hooks", hooks(1)}});
  ASSERT_THAT(of(out[0]), SizeIs(2));
  EXPECT_EQ(of(out[0])[0].hooks, nullptr);
  EXPECT_NE(of(out[0])[1].hooks, nullptr);
  EXPECT_EQ(colour(of(out[1])[1]), 4);
  const auto single =
      bench_.run("ConditioningSetPropertiesAndCombine", {{"cond", prompt(1)}, {"cond_NEW", prompt(3)}, {"set_cond_area", text("default")}});
  EXPECT_EQ(colour(of(single[0]).at(1)), 3);
}

TEST_F(CondPairNodes, DefaultsAreMarkedAndBehind) {
  const auto out = bench_.run(
      "PairConditioningSetDefaultCombine",
      {{"positive", prompt(1)}, {"negative", prompt(2)}, {"positive_DEFAULT", prompt(3)}, {"negative_DEFAULT", prompt(4)}, {"hooks", hooks(1)}});
  for (const Value& value : out) {
    ASSERT_THAT(of(value), SizeIs(2));
    EXPECT_FALSE(of(value)[0].is_default);
    EXPECT_TRUE(of(value)[1].is_default);
    EXPECT_NE(of(value)[1].hooks, nullptr);
  }
  const auto single = bench_.run("ConditioningSetDefaultCombine", {{"cond", prompt(1)}, {"cond_DEFAULT", prompt(3)}});
  EXPECT_TRUE(of(single[0]).at(1).is_default);
  EXPECT_EQ(of(single[0])[1].hooks, nullptr);
}

TEST_F(CondPairNodes, CombinePairs) {
  const auto out = bench_.run("PairConditioningCombine",
                              {{"positive_A", prompt(1)}, {"negative_A", prompt(2)}, {"positive_B", prompt(3)}, {"negative_B", prompt(4)}});
  EXPECT_EQ(colour(of(out[0]).at(1)), 3);
  EXPECT_EQ(colour(of(out[1]).at(1)), 4);
}

TEST_F(CondPairNodes, TheRangesAroundATimeAreItsRest) {
  const auto out = bench_.run("ConditioningTimestepsRange", {{"start_percent", Value::number(0.25)}, {"end_percent", Value::number(0.75)}});
  const auto range = [&](size_t i) {
    const auto& r = out[i].get<TimestepsRange>();
    return std::pair(r.start, r.end);
  };
  EXPECT_EQ(range(0), std::pair(0.25, 0.75));
  EXPECT_EQ(range(1), std::pair(0.0, 0.25));
  EXPECT_EQ(range(2), std::pair(0.75, 1.0));
}

std::vector<std::pair<double, double>> strengths_and_starts(const Value& value) {
  std::vector<std::pair<double, double>> out;
  for (const auto& keyframe : value.get<HookKeyframes>().list()) out.emplace_back(keyframe.strength, keyframe.start_percent);
  return out;
}
using Row = std::pair<double, double>;

TEST_F(CondPairNodes, KeyframesAreAppendedInOrderOfTime) {
  const Value later = bench_.run("CreateHookKeyframe", {{"strength_mult", Value::number(0.5)}, {"start_percent", Value::number(0.75)}})[0];
  const Value both =
      bench_.run("CreateHookKeyframe", {{"strength_mult", Value::number(2)}, {"start_percent", Value::number(0.25)}, {"prev_hook_kf", later}})[0];
  EXPECT_THAT(strengths_and_starts(both), ElementsAre(Row{2, 0.25}, Row{0.5, 0.75}));
  EXPECT_THAT(strengths_and_starts(later), SizeIs(1));
}

TEST_F(CondPairNodes, KeyframesAreInterpolated) {
  const auto out = bench_.run("CreateHookKeyframesInterpolated", {{"strength_start", Value::number(1)},
                                                                  {"strength_end", Value::number(0)},
                                                                  {"interpolation", text("ease_in")},
                                                                  {"start_percent", Value::number(0)},
                                                                  {"end_percent", Value::number(0.5)},
                                                                  {"keyframes_count", Value::integer(3)}});
  EXPECT_THAT(strengths_and_starts(out[0]), ElementsAre(Row{1, 0}, Row{0.75, 0.25}, Row{0, 0.5}));
  EXPECT_EQ(out[0].get<HookKeyframes>().list()[0].guarantee_steps, 1);
  EXPECT_EQ(out[0].get<HookKeyframes>().list()[1].guarantee_steps, 0);
}

TEST_F(CondPairNodes, KeyframesFromNumbersTakeOneAList) {
  const auto from = [&](const Value& value) {
    return strengths_and_starts(bench_.run("CreateHookKeyframesFromFloats", {{"floats_strength", value}, {"end_percent", Value::number(0.5)}})[0]);
  };
  EXPECT_THAT(from(Value::number(0.5)), ElementsAre(Row{0.5, 0}));
  EXPECT_THAT(from(Value::json(Json::array({1, 0.25, 0}))), ElementsAre(Row{1, 0}, Row{0.25, 0.25}, Row{0, 0.5}));
  EXPECT_THAT(from(Value::list({Value::number(1), Value::number(2)})), ElementsAre(Row{1, 0}, Row{2, 0.5}));
  EXPECT_THAT(from(Value::json(Json::array())), SizeIs(0));
  EXPECT_EQ(bench_.error_of("CreateHookKeyframesFromFloats", {{"floats_strength", Value::json(Json::array({"x"}))}}).find("input"),
            "floats_strength");
  EXPECT_EQ(bench_.error_of("CreateHookKeyframesFromFloats", {{"floats_strength", text("x")}}).find("input"), "floats_strength");
}

TEST_F(CondPairNodes, KeyframesAreSetOnEveryHook) {
  const Value keyframes = bench_.run("CreateHookKeyframe", {{"strength_mult", Value::number(0.5)}})[0];
  const Value both = bench_.run("CombineHooks2", {{"hooks_A", hooks(1)}, {"hooks_B", hooks(2)}})[0];
  const Value out = bench_.run("SetHookKeyframes", {{"hooks", both}, {"hook_kf", keyframes}})[0];
  ASSERT_THAT(out.get<HookGroup>().hooks(), SizeIs(2));
  for (const auto& hook : out.get<HookGroup>().hooks()) EXPECT_THAT(hook.keyframes.list(), SizeIs(1));
  EXPECT_EQ(&bench_.run("SetHookKeyframes", {{"hooks", both}})[0].get<HookGroup>(), &both.get<HookGroup>());
  EXPECT_TRUE(bench_.run("SetHookKeyframes", {{"hooks", Value()}, {"hook_kf", keyframes}})[0].is_none());
}

}  // namespace
}  // namespace veneer::nodes
