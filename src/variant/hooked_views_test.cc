#include "variant/hooked_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "patch/adapter_file.h"
#include "patch/kinds/values.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

// One linear layer, 2 -> 2, the identity.
class HookedViewsTest : public ::testing::Test {
 protected:
  HookedViewsTest() {
    ModuleTable table;
    a_ = table.add({.name = "a", .kind = ModuleKind::linear, .has_bias = false});
    base_ = BaseModel::create("toy", std::move(table), {{"a.weight", Tensor::from({2, 2}, std::array<float, 4>{1, 0, 0, 1})}}, "toy.safetensors");
  }

  ModelPatcher patcher(LoraApplyMode mode = LoraApplyMode::materialised, patch::PatchCompat compat = patch::PatchCompat::standard) {
    Runtime runtime;
    runtime.residents = residents_;
    runtime.apply_mode = mode;
    runtime.compat = compat;
    return {base_, std::make_shared<const Runtime>(runtime), DType::f32};
  }
  HookedViews views(const ModelPatcher& patcher, HookTarget target = HookTarget::diffusion_model) {
    return {patcher, {target, base_, {}, patcher.runtime().compat}, sampling_};
  }

  // A low-rank product of rank 1 that is no round number.
  static patch::PatchValuePtr low_rank(float seed) {
    patch::AdapterTensors tensors;
    tensors["a.lora_up.weight"] = Tensor::from({2, 1}, std::array{0.37F * seed, -0.21F});
    tensors["a.lora_down.weight"] = Tensor::from({1, 2}, std::array{1.13F, 0.71F * seed});
    patch::KeyMap map;
    map.add("a", "a.weight");
    return patch::load_adapter(tensors, map, {}).patches.at("a.weight");
  }
  static std::shared_ptr<const HookWeights> weights(float seed = 1) { return make_hook_weights({{"a.weight", low_rank(seed)}}); }
  static HookGroup fade(double end = 0.5) { return HookGroup({{weights(), 1, 1, HookKeyframes({{1, 0}, {0, end}})}}); }

  std::vector<float> run(ModelView& view) {
    compute::Context context;
    const Tensor y = view.linear(context, a_, Tensor::from({1, 2}, std::array<float, 2>{1.7F, 3.1F}), {});
    return {y.floats().begin(), y.floats().end()};
  }
  std::vector<float> run_plain(float seed, double strength, LoraApplyMode mode = LoraApplyMode::materialised) {
    ModelPatcher variant = patcher(mode);
    if (strength != 0) variant.add_patches({{"a.weight", low_rank(seed)}}, strength);
    return run(*variant.open_view());
  }
  float sigma_at(double percent) const { return percent <= 0 ? sampling_->sigma_max() : static_cast<float>(sampling_->percent_to_sigma(percent)); }

  std::shared_ptr<const BaseModel> base_;
  std::shared_ptr<residency::ResidentSet> residents_ = std::make_shared<residency::ResidentSet>();
  std::shared_ptr<const sampling::ModelSampling> sampling_ =
      std::make_shared<const sampling::ModelSampling>(sampling::ModelSampling::discrete(sampling::Prediction::eps));
  ModuleId a_ = 0;
};

TEST_F(HookedViewsTest, AConstantHookIsThePlainPatchToTheBit) {
  const HookGroup plain({{weights(), 0.3, 1}});
  const HookGroup by_keyframe({{weights(), 0.6, 1, HookKeyframes({{0.5, 0}})}});
  for (const LoraApplyMode mode : {LoraApplyMode::automatic, LoraApplyMode::materialised, LoraApplyMode::on_demand}) {
    HookedViews views = this->views(patcher(mode));
    EXPECT_EQ(run(views.at(&plain, 5, {})), run_plain(1, 0.3)) << to_string(mode);
    EXPECT_EQ(run(views.at(&by_keyframe, 5, {})), run_plain(1, 0.6 * 0.5)) << to_string(mode);
    EXPECT_EQ(run(views.at(nullptr, 5, {})), run_plain(1, 0)) << to_string(mode);
  }
}

TEST_F(HookedViewsTest, AScheduleFromOneToNothingIsThePatchBeforeAndTheBaseAfter) {
  const HookGroup group = fade();
  HookedViews views = this->views(patcher());
  EXPECT_EQ(run(views.at(&group, sigma_at(0), {})), run_plain(1, 1));
  EXPECT_EQ(run(views.at(&group, sigma_at(0.4), {})), run_plain(1, 1));
  EXPECT_EQ(run(views.at(&group, sigma_at(0.5), {})), run_plain(1, 0));
  EXPECT_EQ(run(views.at(&group, sigma_at(0.9), {})), run_plain(1, 0));
  EXPECT_EQ(views.opened(), 2U);
}

TEST_F(HookedViewsTest, ByASideBranchTheScheduleMakesNoPatchedWeight) {
  constexpr int kSteps = 20;
  std::vector<HookKeyframe> keyframes;
  keyframes.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) keyframes.push_back({1 - i / 20.0, i / 20.0, 0});
  const HookGroup group({{weights(), 1, 1, HookKeyframes(keyframes)}});
  std::vector<std::vector<float>> want;
  want.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) want.push_back(run_plain(1, 1 - i / 20.0));
  residents_->trim(0);
  const size_t builds = residents_->num_builds();
  HookedViews views = this->views(patcher(LoraApplyMode::automatic));
  for (int i = 0; i < 20; ++i) {
    const auto y = run(views.at(&group, sigma_at(i / 20.0 + 0.001), {}));
    EXPECT_THAT(y, Pointwise(FloatNear(1e-5F), want[static_cast<size_t>(i)])) << i;
  }
  EXPECT_EQ(views.opened(), 20U);
  EXPECT_EQ(residents_->num_builds() - builds, 2U);  // the base's weight and the branch
}

TEST_F(HookedViewsTest, PromptsWithDifferentHooksInOneRunAreAsApart) {
  const HookGroup first = fade(0.5);
  const HookGroup second({{weights(2), 0.8, 1, HookKeyframes({{0.25, 0}, {1, 0.3}, {0.5, 0.7}})}});
  HookedViews both = views(patcher());
  HookedViews only_first = views(patcher());
  HookedViews only_second = views(patcher());
  for (const double percent : {0.0, 0.2, 0.35, 0.6, 0.8}) {
    const float sigma = sigma_at(percent);
    const auto a = run(both.at(&first, sigma, {}));
    const auto plain = run(both.at(nullptr, sigma, {}));
    const auto b = run(both.at(&second, sigma, {}));
    EXPECT_EQ(a, run(only_first.at(&first, sigma, {})));
    EXPECT_EQ(b, run(only_second.at(&second, sigma, {})));
    EXPECT_EQ(plain, run_plain(1, 0));
  }
}

TEST_F(HookedViewsTest, HooksLieOnTopOfTheVariantsOwnPatches) {
  ModelPatcher variant = patcher();
  variant.add_patches({{"a.weight", low_rank(3)}}, 0.4);
  const HookGroup group({{weights(1), 0.5, 1}, {weights(2), -1, 1}});
  HookedViews views = this->views(variant);
  const auto hooked = run(views.at(&group, 5, {}));
  ModelPatcher by_hand = variant.clone();
  by_hand.add_patches({{"a.weight", low_rank(1)}}, 0.5);
  by_hand.add_patches({{"a.weight", low_rank(2)}}, -1);
  EXPECT_EQ(hooked, run(*by_hand.open_view()));
}

TEST_F(HookedViewsTest, TheBaseAndTheVariantStayAsTheyWere) {
  const ModelPatcher variant = patcher();
  const Fingerprint before = variant.fingerprint();
  const std::vector<float> bits(base_->weight("a.weight").floats().begin(), base_->weight("a.weight").floats().end());
  {
    const HookGroup group = fade();
    HookedViews views = this->views(variant);
    run(views.at(&group, sigma_at(0), {}));
    run(views.at(&group, sigma_at(0.6), {}));
  }
  EXPECT_EQ(variant.fingerprint(), before);
  EXPECT_EQ(residents_->num_leases(), 0U);
  EXPECT_TRUE(std::ranges::equal(base_->weight("a.weight").floats(), bits));
  EXPECT_EQ(run_plain(1, 0), (std::vector<float>{1.7F, 3.1F}));
}

TEST_F(HookedViewsTest, OnlyTheLastViewsAreKept) {
  constexpr int kSteps = 20;
  std::vector<HookKeyframe> keyframes;
  keyframes.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) keyframes.push_back({1.0 + i, i / 20.0, 0});
  const HookGroup group({{weights(), 1, 1, HookKeyframes(keyframes)}});
  HookedViews views = this->views(patcher());
  for (int i = 0; i < 20; ++i) run(views.at(&group, sigma_at(i / 20.0 + 0.001), {}));
  EXPECT_LE(residents_->num_leases(), HookedViews::kMostViews);
}

TEST_F(HookedViewsTest, TheHighestLevelOfTheRunDecidesWhichGuaranteesCount) {
  const HookGroup group({{weights(), 1, 1, HookKeyframes({{1, 0, 1}, {2, 0.2, 1}, {3, 0.4, 1}})}});
  const std::array<float, 3> late = {sigma_at(0.5), sigma_at(0.7), 0};
  const std::array<float, 3> whole = {sigma_at(0), sigma_at(0.5), 0};
  HookedViews first = views(patcher());
  EXPECT_EQ(run(first.at(&group, sigma_at(0.5), late)), run_plain(1, 3));
  HookedViews second = views(patcher());
  EXPECT_EQ(run(second.at(&group, sigma_at(0.5), whole)), run_plain(1, 2));
}

TEST_F(HookedViewsTest, ATextEncoderTakesItsOwnStrengthAndPatches) {
  const HookGroup group({{make_hook_weights({}, {{"a.weight", low_rank(1)}}), 0, 0.7}});
  HookedViews text = views(patcher(), HookTarget::text_encoder);
  EXPECT_EQ(run(text.at(&group, 5, {})), run_plain(1, 0.7));
  HookedViews model = views(patcher());
  EXPECT_EQ(run(model.at(&group, 5, {})), run_plain(1, 0));
}

TEST_F(HookedViewsTest, PatchesOfAnotherModelAreAnErrorThatNamesTheModel) {
  const HookGroup group({{make_hook_weights({{"other.weight", low_rank(1)}}), 1, 1}});
  HookedViews views = this->views(patcher());
  try {
    views.at(&group, 5, {});
    FAIL() << "took patches of another model";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_EQ(error.find("model architecture"), "toy");
    EXPECT_EQ(error.find("first"), "other.weight");
  }
  EXPECT_EQ(run(views.at(nullptr, 5, {})), run_plain(1, 0));
}

TEST_F(HookedViewsTest, PatchesOfAnotherShapeAreAnError) {
  const HookGroup group({{make_hook_weights({{"a.weight", patch::make_diff(Tensor::zeros({3, 3}, DType::f32))}}), 1, 1}});
  HookedViews views = this->views(patcher());
  EXPECT_THROW(run(views.at(&group, 5, {})), Error);
  EXPECT_EQ(run(views.at(nullptr, 5, {})), run_plain(1, 0));
}

TEST_F(HookedViewsTest, StrengthsThatOverflowAreAnError) {
  const HookGroup group({{weights(), 1e308, 1, HookKeyframes({{1e308, 0}})}});
  HookedViews views = this->views(patcher());
  EXPECT_THROW(views.at(&group, 5, {}), Error);
}

TEST_F(HookedViewsTest, TellsOncePerHookWhatFitsNothing) {
  const HookGroup group({{make_hook_weights({{"a.weight", low_rank(1)}, {"z.weight", low_rank(1)}}), 1, 1, HookKeyframes({{1, 0}, {2, 0.5}})}});
  HookedViews views = this->views(patcher());
  views.at(&group, sigma_at(0), {});
  views.at(&group, sigma_at(0.6), {});
  EXPECT_THAT(views.take_remarks(), ElementsAre(HasSubstr("1 of 2 patches")));
  EXPECT_TRUE(views.take_remarks().empty());
}

TEST_F(HookedViewsTest, ANewVariantCallsItsCallbacks) {
  ModelPatcher variant = patcher();
  int calls = 0;
  variant.add_callback(CallbackPoint::on_apply_hooks, "test", [&](ModelPatcher&, ModelPatcher*) { ++calls; });
  const HookGroup group = fade();
  HookedViews views = this->views(variant);
  views.at(&group, sigma_at(0), {});
  views.at(&group, sigma_at(0.1), {});
  EXPECT_EQ(calls, 1);
}

TEST_F(HookedViewsTest, HooksOfAnotherKindAreRefused) {
  class Other final : public sampling::CondHooks {
   public:
    Fingerprint fingerprint() const override { return {1, 2}; }
  };
  const Other other;
  HookedViews views = this->views(patcher());
  EXPECT_THROW(views.at(&other, 5, {}), Error);
}

TEST(ActiveHooks, BehindAChangingHookAllAreForNow) {
  const auto weights = [](float value) { return make_hook_weights({{"a.weight", patch::make_diff(Tensor::from({1}, std::array{value}))}}); };
  const HookGroup group({{weights(1)}, {weights(2), 1, 1, HookKeyframes({{1, 0}, {0, 0.5}})}, {weights(3)}, {weights(4), 0, 1}});
  const auto flags = [&](std::array<double, 4> factors, bool scheduled) {
    std::vector<bool> out;
    for (const ActiveHook& active : active_hooks(group, {}, factors, scheduled)) out.push_back(active.for_now);
    return out;
  };
  EXPECT_THAT(flags({1, 1, 1, 1}, true), ElementsAre(false, true, true));
  EXPECT_THAT(flags({1, 0, 1, 1}, true), ElementsAre(false, true));
  EXPECT_THAT(flags({1, 1, 1, 1}, false), ElementsAre(false, false, false));
}

}  // namespace
}  // namespace veneer::variant
