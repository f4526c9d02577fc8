#include "variant/model_patcher.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "patch/calculate_weight.h"
#include "patch/kinds/values.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

// Two linear layers, 2 -> 2, the identity and twice the identity.
class ModelPatcherTest : public ::testing::Test {
 protected:
  ModelPatcherTest() {
    ModuleTable table;
    a_ = table.add({.name = "a", .kind = ModuleKind::linear, .has_bias = false});
    b_ = table.add({.name = "b", .kind = ModuleKind::linear, .has_bias = true});
    std::map<std::string, Tensor, std::less<>> weights;
    weights["a.weight"] = Tensor::from({2, 2}, std::array<float, 4>{1, 0, 0, 1});
    weights["b.weight"] = Tensor::from({2, 2}, std::array<float, 4>{2, 0, 0, 2});
    weights["b.bias"] = Tensor::from({2}, std::array<float, 2>{10, 20});
    base_ = BaseModel::create("toy", std::move(table), std::move(weights), "toy.safetensors");
  }

  ModelPatcher patcher() { return {base_, residents_, DType::f32}; }

  static std::map<std::string, patch::PatchValuePtr, std::less<>> plus_one(const std::string& key, const Shape& shape) {
    const std::vector<float> ones(static_cast<size_t>(shape.num_elements()), 1.0F);
    return {{key, patch::make_diff(Tensor::from(shape, ones))}};
  }

  std::vector<float> run(const ModelPatcher& variant, ModuleId module) {
    const auto view = variant.open_view();
    compute::Context context;
    const Tensor y = view->linear(context, module, Tensor::from({1, 2}, std::array<float, 2>{1, 3}), {});
    return {y.floats().begin(), y.floats().end()};
  }

  std::shared_ptr<const BaseModel> base_;
  std::shared_ptr<residency::ResidentSet> residents_ = std::make_shared<residency::ResidentSet>();
  ModuleId a_ = 0, b_ = 0;
};

TEST_F(ModelPatcherTest, AVariantComputesItsPatchAndLeavesTheBase) {
  const ModelPatcher base = patcher();
  ModelPatcher variant = base.clone();
  EXPECT_EQ(variant.add_patches(plus_one("a.weight", {2, 2}), 0.5), (std::vector<std::string>{"a.weight"}));
  EXPECT_EQ(run(variant, a_), (std::vector<float>{3, 5}));  // (I + 0.5 ones) [1, 3]
  EXPECT_EQ(run(base, a_), (std::vector<float>{1, 3}));
  EXPECT_EQ(run(variant, b_), (std::vector<float>{12, 26}));
}

TEST_F(ModelPatcherTest, BothVariantsAreResidentSideBySideAndShareWhatIsEqual) {
  const ModelPatcher base = patcher();
  ModelPatcher variant = base.clone();
  variant.add_patches(plus_one("a.weight", {2, 2}), 1.0);
  run(base, a_);
  run(base, b_);
  run(variant, a_);
  run(variant, b_);
  EXPECT_EQ(residents_->account().size(), 3U);  // a, a', b
}

TEST_F(ModelPatcherTest, PatchesOfABiasCount) {
  ModelPatcher variant = patcher();
  variant.add_patches(plus_one("b.bias", {2}), 2.0);
  EXPECT_EQ(run(variant, b_), (std::vector<float>{14, 28}));
}

TEST_F(ModelPatcherTest, StrengthModelScalesTheBase) {
  ModelPatcher variant = patcher();
  variant.add_patches(plus_one("a.weight", {2, 2}), 1.0, 3.0);
  EXPECT_EQ(run(variant, a_), (std::vector<float>{7, 13}));
}

TEST_F(ModelPatcherTest, ClonesShareTheirListUntilOneChanges) {
  ModelPatcher first = patcher();
  first.add_patches(plus_one("a.weight", {2, 2}), 1.0);
  ModelPatcher second = first.clone();
  EXPECT_EQ(&first.patches(), &second.patches());
  EXPECT_TRUE(first.clone_has_same_weights(second));
  second.add_patches(plus_one("a.weight", {2, 2}), 1.0);
  EXPECT_EQ(first.key_patches("a.weight").size(), 1U);
  EXPECT_EQ(second.key_patches("a.weight").size(), 2U);
  EXPECT_FALSE(first.clone_has_same_weights(second));
  EXPECT_EQ(second.parent(), first.identity());
}

TEST_F(ModelPatcherTest, SameDescriptionsFromDifferentObjectsAreTheSameVariant) {
  const ModelPatcher base = patcher();
  ModelPatcher one = base.clone();
  ModelPatcher two = base.clone();
  one.add_patches(plus_one("a.weight", {2, 2}), 0.25);
  two.add_patches(plus_one("a.weight", {2, 2}), 0.25);
  EXPECT_NE(one.patches_uuid(), two.patches_uuid());
  EXPECT_EQ(one.fingerprint(), two.fingerprint());
  two.add_patches(plus_one("b.bias", {2}), 0.0);
  EXPECT_EQ(one.fingerprint(), two.fingerprint()) << "strength 0 is nothing";
  two.add_patches(plus_one("b.bias", {2}), 0.01);
  EXPECT_NE(one.fingerprint(), two.fingerprint());
}

TEST_F(ModelPatcherTest, StrengthOptionsAndOrderAreInTheFingerprint) {
  ModelPatcher one = patcher();
  ModelPatcher two = one.clone();
  one.add_patches(plus_one("a.weight", {2, 2}), 0.5);
  two.add_patches(plus_one("a.weight", {2, 2}), 0.6);
  EXPECT_NE(one.fingerprint(), two.fingerprint());
  ModelPatcher three = one.clone();
  TransformerOptions options = three.transformer_options();
  options.emb_patch.push_back({Fingerprint{1, 2}, [](const Tensor& x, const PatchCall&) { return x; }});
  three.set_transformer_options(std::move(options));
  EXPECT_NE(one.fingerprint(), three.fingerprint());
  EXPECT_TRUE(one.transformer_options().empty());
}

TEST_F(ModelPatcherTest, UnknownKeysAreNotTakenButRefreshTheUuid) {
  ModelPatcher variant = patcher();
  const Fingerprint before = variant.patches_uuid();
  EXPECT_TRUE(variant.add_patches(plus_one("c.weight", {2, 2}), 1.0).empty());
  EXPECT_NE(variant.patches_uuid(), before);
  EXPECT_TRUE(variant.patches().empty());
}

TEST_F(ModelPatcherTest, APatchThatDoesNotFitFailsTheCallAndHoldsNoLease) {
  ModelPatcher variant = patcher();
  variant.add_patches(plus_one("a.weight", {3, 3}), 1.0);
  EXPECT_THROW(run(variant, a_), Error);
  EXPECT_EQ(residents_->num_leases(), 0U);
  EXPECT_EQ(run(patcher(), a_), (std::vector<float>{1, 3}));
}

TEST_F(ModelPatcherTest, AViewKeepsTheDescriptionItWasMadeFrom) {
  ModelPatcher variant = patcher();
  const auto view = variant.open_view();
  variant.add_patches(plus_one("a.weight", {2, 2}), 1.0);
  compute::Context context;
  const Tensor y = view->linear(context, a_, Tensor::from({1, 2}, std::array<float, 2>{1, 3}), {});
  EXPECT_EQ(y.floats()[0], 1);
}

TEST_F(ModelPatcherTest, WhatABaseLeavesBehindIsTrimmed) {
  run(patcher(), a_);
  EXPECT_GT(residents_->size_bytes(), 0U);
  base_.reset();
  residents_->trim(residency::ResidentSet::kUnlimited);
  EXPECT_EQ(residents_->size_bytes(), 0U);
}

TEST(BaseModel, NamesTheFirstMissingTensor) {
  ModuleTable table;
  table.add({.name = "a", .kind = ModuleKind::linear, .has_bias = true});
  std::map<std::string, Tensor, std::less<>> weights;
  weights["a.weight"] = Tensor::zeros({2, 2}, DType::f32);
  try {
    BaseModel::create("toy", std::move(table), std::move(weights), "toy.safetensors");
    FAIL() << "accepted a model without a.bias";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("tensor"), "a.bias");
    EXPECT_EQ(error.find("file"), "toy.safetensors");
  }
}

}  // namespace
}  // namespace veneer::variant
