#include "variant/prompt_model_tracker.h"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "patch/kinds/values.h"

namespace veneer::variant {
namespace {

class PromptModelTrackerTest : public ::testing::Test {
 protected:
  static ModelPatcher make(const std::string& name) {
    ModuleTable table;
    table.add({.name = "a", .kind = ModuleKind::linear, .has_bias = false});
    std::map<std::string, Tensor, std::less<>> weights;
    weights["a.weight"] = Tensor::from({1, 1}, std::array<float, 1>{1});
    return {BaseModel::create("toy", std::move(table), std::move(weights), name), std::make_shared<residency::ResidentSet>(), DType::f32};
  }
  static ModelPatcher with_patch(const ModelPatcher& base) {
    ModelPatcher out = base.clone();
    out.add_patches({{"a.weight", patch::make_diff(Tensor::from({1, 1}, std::array<float, 1>{1}))}});
    return out;
  }
  std::shared_ptr<ModelUsage> usage_ = std::make_shared<ModelUsage>();
};

TEST_F(PromptModelTrackerTest, MarksEachVariantOnceUntilThePromptEnds) {
  const ModelPatcher base = make("one");
  const ModelPatcher variant = with_patch(base);
  {
    PromptModelTracker tracker(usage_);
    tracker.add(base);
    tracker.add(base.clone());  // the same variant
    tracker.add(variant);
    EXPECT_EQ(tracker.models().size(), 2U);
    ASSERT_EQ(usage_->in_use().size(), 2U);
    EXPECT_EQ(usage_->in_use()[0].source_name, "one");
    EXPECT_TRUE(usage_->uses(*base.model()));
  }
  EXPECT_TRUE(usage_->in_use().empty());
  EXPECT_FALSE(usage_->uses(*base.model()));
}

TEST_F(PromptModelTrackerTest, TwoPromptsCountApart) {
  const ModelPatcher base = make("one");
  PromptModelTracker first(usage_);
  first.add(base);
  {
    PromptModelTracker second(usage_);
    second.add(base);
    EXPECT_EQ(usage_->in_use().at(0).prompts, 2U);
  }
  EXPECT_EQ(usage_->in_use().at(0).prompts, 1U);
}

TEST_F(PromptModelTrackerTest, CallsPreRunAtFirstSightAndCleanupWithTheLastMark) {
  int runs = 0, cleanups = 0;
  ModelPatcher base = make("one");
  base.add_callback(CallbackPoint::on_pre_run, "test", [&](ModelPatcher&, ModelPatcher*) { ++runs; });
  base.add_callback(CallbackPoint::on_cleanup, "test", [&](ModelPatcher&, ModelPatcher*) {
    ++cleanups;
    throw std::runtime_error("an extension fails");
  });
  auto first = std::make_unique<PromptModelTracker>(usage_);
  auto second = std::make_unique<PromptModelTracker>(usage_);
  first->add(base);
  second->add(base);
  EXPECT_EQ(runs, 2);
  first.reset();
  EXPECT_EQ(cleanups, 0);
  second.reset();
  EXPECT_EQ(cleanups, 1);
}

TEST_F(PromptModelTrackerTest, ModelsBesideAreMarkedToo) {
  ModelPatcher base = make("one");
  base.set_additional_models("control", {make("two")});
  PromptModelTracker tracker(usage_);
  tracker.add(base);
  EXPECT_EQ(usage_->in_use().size(), 2U);
}

TEST_F(PromptModelTrackerTest, KeepsTheBaseAliveUntilTheEnd) {
  std::weak_ptr<const BaseModel> weak;
  PromptModelTracker tracker(usage_);
  {
    const ModelPatcher base = make("one");
    weak = base.model();
    tracker.add(base);
  }
  EXPECT_FALSE(weak.expired());
}

}  // namespace
}  // namespace veneer::variant
