#include "engine/runtime_options.h"

#include <gtest/gtest.h>

#include "veneer/error.h"

namespace veneer::engine {
namespace {

TEST(RuntimeOptions, TheDefaultBudgetIsPartOfTheMachinesMemory) {
  const auto runtime = make_runtime({});
  EXPECT_GT(runtime->residents->budget_bytes(), 0U);
  EXPECT_NE(runtime->residents->budget_bytes(), residency::ResidentSet::kUnlimited);
  EXPECT_EQ(runtime->pinned, nullptr);
  EXPECT_EQ(runtime->apply_mode, variant::LoraApplyMode::automatic);
}

TEST(RuntimeOptions, TakesWhatIsAskedFor) {
  EngineOptions options;
  options.memory_budget = 1000;
  options.pinned_budget = 2000;
  options.lora_apply_mode = "on-demand";
  options.residency = "dynamic";
  options.patch_compat = "reference";
  const auto runtime = make_runtime(options);
  EXPECT_EQ(runtime->residents->budget_bytes(), 1000U);
  EXPECT_EQ(runtime->pinned->budget_bytes(), 2000U);
  EXPECT_EQ(runtime->apply_mode, variant::LoraApplyMode::on_demand);
  EXPECT_EQ(runtime->residency, variant::ResidencyMode::dynamic);
  EXPECT_EQ(runtime->compat, patch::PatchCompat::reference);
  options.no_resident_weights = true;
  EXPECT_EQ(make_runtime(options)->residents->budget_bytes(), 0U);
}

TEST(RuntimeOptions, UnknownWordsNameTheAllowedOnes) {
  for (const auto member : {&EngineOptions::lora_apply_mode, &EngineOptions::residency, &EngineOptions::patch_compat}) {
    EngineOptions options;
    options.*member = "sometimes";
    try {
      (void)make_runtime(options);
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      EXPECT_FALSE(error.find("allowed").empty());
    }
  }
}

}  // namespace
}  // namespace veneer::engine
