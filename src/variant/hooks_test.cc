#include "variant/hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "patch/kinds/values.h"
#include "variant/clip_schedule.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

std::shared_ptr<const HookWeights> weights(float value = 1) {
  return make_hook_weights({{"a.weight", patch::make_diff(Tensor::from({1, 1}, std::array{value}))}});
}
HookGroupPtr group_of(std::vector<WeightHook> hooks) { return std::make_shared<const HookGroup>(std::move(hooks)); }

TEST(HookGroup, EveryParameterIsInTheFingerprint) {
  const auto same = weights();
  const auto of = [](WeightHook hook) { return HookGroup({std::move(hook)}).fingerprint(); };
  const WeightHook hook{same, 1, 1, HookKeyframes({{1, 0}, {0, 0.5}})};
  EXPECT_EQ(of(hook), of({weights(), 1, 1, HookKeyframes({{1, 0}, {0, 0.5}})}));
  EXPECT_NE(of(hook), of({weights(2), 1, 1, hook.keyframes}));
  EXPECT_NE(of(hook), of({same, 0.9, 1, hook.keyframes}));
  EXPECT_NE(of(hook), of({same, 1, 0.9, hook.keyframes}));
  EXPECT_NE(of(hook), of({same, 1, 1, HookKeyframes({{1, 0}, {0, 0.6}})}));
  EXPECT_NE(of(hook), of({same, 1, 1, {}}));
  EXPECT_NE(HookGroup({{weights(1)}, {weights(2)}}).fingerprint(), HookGroup({{weights(2)}, {weights(1)}}).fingerprint());
}

TEST(HookGroup, TheScheduleIsPartOfAPromptsFingerprint) {
  sampling::ConditioningEntry entry;
  entry.context = Tensor::zeros({1, 1, 1}, DType::f32);
  const auto same = weights();
  const auto at = [&](double end) { return add_hooks({entry}, group_of({{same, 1, 1, HookKeyframes({{1, 0}, {0, end}})}})); };
  EXPECT_EQ(sampling::fingerprint(at(0.5)), sampling::fingerprint(at(0.5)));
  EXPECT_NE(sampling::fingerprint(at(0.5)), sampling::fingerprint(at(0.6)));
  EXPECT_NE(sampling::fingerprint(at(0.5)), sampling::fingerprint({entry}));
}

TEST(HookGroup, RefusesStrengthsThatAreNoNumbersAndHooksWithoutWeights) {
  EXPECT_THROW(HookGroup({{weights(), NAN, 1}}), Error);
  EXPECT_THROW(HookGroup({{weights(), 1, HUGE_VAL}}), Error);
  EXPECT_THROW(HookGroup({{nullptr, 1, 1}}), Error);
}

TEST(AddHooks, OfStrengthZeroLeaveAPromptAsItWas) {
  sampling::ConditioningEntry entry;
  entry.context = Tensor::zeros({1, 1, 1}, DType::f32);
  for (const HookGroupPtr& group : {group_of({}), group_of({{weights(), 0, 1}}), group_of({{weights(), 0, 0.5}, {weights(2), 0, 1}})}) {
    const sampling::Conditioning out = add_hooks({entry}, group);
    EXPECT_EQ(out[0].hooks, nullptr);
    EXPECT_EQ(sampling::fingerprint(out), sampling::fingerprint({entry}));
  }
  EXPECT_NE(add_hooks({entry}, group_of({{weights(), 0, 1}, {weights(2), 0.1, 0}}))[0].hooks, nullptr);
}

TEST(CombineHooks, OfNothingIsNothingAndOfOneIsItself) {
  const HookGroupPtr one = group_of({{weights()}});
  EXPECT_EQ(combine_hooks(std::array<HookGroupPtr, 2>{}), nullptr);
  EXPECT_EQ(combine_hooks(std::array<HookGroupPtr, 2>{nullptr, one}), one);
}

TEST(CombineHooks, KeepsTheOrderAndCountsAHookOnce) {
  const HookGroupPtr first = group_of({{weights(1)}});
  const HookGroupPtr second = group_of({{weights(2)}});
  const HookGroupPtr both = combine_hooks(std::array{first, second, first});
  ASSERT_THAT(both->hooks(), SizeIs(2));
  EXPECT_EQ(both->hooks()[0].weights, first->hooks()[0].weights);
  // The same content from another node is another hook.
  EXPECT_THAT(combine_hooks(std::array{first, group_of({{weights(1)}})})->hooks(), SizeIs(2));
  // With other keyframes it is still the same hook; the first one's keyframes hold.
  const HookGroupPtr timed = combine_hooks(std::array{with_keyframes(first, HookKeyframes({{0.5, 0}})), first});
  ASSERT_THAT(timed->hooks(), SizeIs(1));
  EXPECT_FALSE(timed->hooks()[0].keyframes.empty());
}

TEST(CombineHooks, LeavesWhatWasCombined) {
  const HookGroupPtr first = group_of({{weights(1)}});
  const Fingerprint before = first->fingerprint();
  with_keyframes(first, HookKeyframes({{0.5, 0}}));
  combine_hooks(std::array{first, group_of({{weights(2)}})});
  EXPECT_EQ(first->fingerprint(), before);
  EXPECT_EQ(with_keyframes(nullptr, {}), nullptr);
}

TEST(AddHooks, AppendsToWhatAnEntryHasAndSharesEqualGroups) {
  const HookGroupPtr own = group_of({{weights(1)}});
  const HookGroupPtr more = group_of({{weights(2)}});
  sampling::Conditioning entries(3);
  entries[0].hooks = own;
  entries[2].hooks = own;
  const sampling::Conditioning out = add_hooks(entries, more);
  EXPECT_EQ(out[1].hooks, more);
  EXPECT_THAT(as_hook_group(*out[0].hooks).hooks(), SizeIs(2));
  EXPECT_EQ(out[0].hooks, out[2].hooks);
  EXPECT_EQ(entries[0].hooks, own);
  EXPECT_EQ(add_hooks(entries, nullptr)[1].hooks, nullptr);
}

TEST(AddHooks, RefusesHooksOfAnotherKind) {
  class Other final : public sampling::CondHooks {
   public:
    Fingerprint fingerprint() const override { return {1, 2}; }
  };
  sampling::Conditioning entries(1);
  entries[0].hooks = std::make_shared<Other>();
  EXPECT_THROW(add_hooks(entries, group_of({{weights()}})), Error);
  EXPECT_THROW(as_hook_group(Other()), Error);
}

std::vector<std::vector<double>> schedule(std::vector<WeightHook> hooks) {
  std::vector<std::vector<double>> out;
  for (const ClipInterval& interval : clip_schedule(HookGroup(std::move(hooks)))) {
    out.push_back({interval.start_percent, interval.end_percent});
    out.back().insert(out.back().end(), interval.strengths.begin(), interval.strengths.end());
  }
  return out;
}
using Row = std::vector<double>;

TEST(ClipSchedule, IsOneIntervalWithoutKeyframes) {
  EXPECT_THAT(schedule({{weights()}}), ElementsAre(Row{0, 1, 1}));
  EXPECT_THAT(schedule({}), ElementsAre(Row{0, 1}));
}

TEST(ClipSchedule, CutsWhereAStrengthChanges) {
  EXPECT_THAT(schedule({{weights(), 1, 1, HookKeyframes({{1, 0}, {1, 0.25}, {0.5, 0.5}, {0, 0.75}})}}),
              ElementsAre(Row{0, 0.5, 1}, Row{0.5, 0.75, 0.5}, Row{0.75, 1, 0}));
}

TEST(ClipSchedule, JoinsTheCutsOfAllHooks) {
  EXPECT_THAT(schedule({{weights(1), 1, 1, HookKeyframes({{1, 0}, {0, 0.5}})}, {weights(2)}, {weights(3), 1, 1, HookKeyframes({{2, 0}, {3, 0.25}})}}),
              ElementsAre(Row{0, 0.25, 1, 1, 2}, Row{0.25, 0.5, 1, 1, 3}, Row{0.5, 1, 0, 1, 3}));
}

TEST(ClipSchedule, OfSeveralKeyframesAtOnePlaceTheLastCounts) {
  EXPECT_THAT(schedule({{weights(), 1, 1, HookKeyframes({{1, 0}, {2, 0}, {3, 0.5}, {4, 0.5}})}}), ElementsAre(Row{0, 0.5, 2}, Row{0.5, 1, 4}));
}

TEST(ClipSchedule, BeforeTheFirstKeyframeTheFactorIsOne) {
  EXPECT_THAT(schedule({{weights(), 1, 1, HookKeyframes({{0.5, 0.25}})}}), ElementsAre(Row{0, 0.25, 1}, Row{0.25, 1, 0.5}));
  EXPECT_THAT(schedule({{weights(), 1, 1, HookKeyframes({{0.5, 1}})}}), ElementsAre(Row{0, 1, 1}));
}

TEST(ClipSchedule, StaysWithinTheRun) {
  EXPECT_THAT(schedule({{weights(), 1, 1, HookKeyframes({{0.5, -3}, {0.25, 2}})}}), ElementsAre(Row{0, 1, 0.5}));
}

}  // namespace
}  // namespace veneer::variant
