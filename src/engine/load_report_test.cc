#include "engine/load_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/testing/engine_bench.h"

namespace veneer::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LoadReports : public ::testing::Test {
 protected:
  LoadReport load() const { return bench_.engine().load({kDemoModel, {{"style-night", 1}}}); }
  static const PartPlan& unet(const LoadReport& report) { return report.parts.back(); }
  static uint64_t largest(const LoadReport& report) {
    uint64_t bytes = 0;
    for (const PartPlan& plan : report.parts) {
      for (const PlannedModule& module : plan.modules) bytes = std::max(bytes, module.bytes);
    }
    return bytes;
  }

  EngineBench bench_;
};

TEST_F(LoadReports, PlanEveryModuleOfEveryPart) {
  const LoadReport report = load();
  std::vector<std::string> parts;
  parts.reserve(report.parts.size());
  for (const PartPlan& plan : report.parts) parts.push_back(plan.part);
  EXPECT_THAT(parts, ElementsAre("text_encoder", "vae", "unet"));
  for (const PartPlan& plan : report.parts) {
    EXPECT_EQ(plan.on_demand_bytes, 0U) << plan.part;
    EXPECT_GT(plan.resident_bytes, 0U) << plan.part;
    for (const PlannedModule& module : plan.modules) EXPECT_TRUE(module.loaded) << module.name;
  }
  EXPECT_EQ(std::ranges::count(unet(report).modules, true, &PlannedModule::patched), 117);
}

TEST_F(LoadReports, AccountForWhatIsInMemoryWhileAJobSamples) {
  const LoadReport report = load();
  uint64_t bytes = 0, in_use = 0;
  for (const MemoryEntry& entry : report.account.entries) {
    bytes += entry.bytes;
    in_use += entry.in_use ? 1 : 0;
    EXPECT_EQ(entry.tier, "resident");
  }
  EXPECT_EQ(bytes, report.account.resident_bytes);
  EXPECT_EQ(in_use, unet(report).modules.size());
  EXPECT_GT(report.account.entries.size(), in_use) << "what ran before stays while there is room";
}

TEST_F(LoadReports, AccountForWeightsAndPatchesApart) {
  for (const char* residency : {"classic", "dynamic"}) {
    bench_.options.residency = residency;
    bench_.options.lora_apply_mode = "materialised";
    const LoadReport report = load();
    for (const PartPlan& plan : report.parts) {
      const bool patched = plan.part != "vae";
      EXPECT_EQ(plan.weight_bytes, plan.stored_bytes) << plan.part;
      EXPECT_EQ(plan.patch_bytes > 0, patched) << plan.part;
      EXPECT_GT(plan.loaded_weight_bytes, 0U) << plan.part;
      EXPECT_EQ(plan.loaded_patch_bytes > 0, patched) << plan.part;
    }
    bench_.options.lora_apply_mode = "branch";
    const LoadReport beside = load();
    EXPECT_GT(unet(beside).loaded_weight_bytes, unet(report).loaded_weight_bytes) << "the base's weights serve";
    EXPECT_GT(unet(beside).loaded_patch_bytes, 0U) << "of the side branches";
    EXPECT_LT(unet(beside).loaded_patch_bytes, unet(report).loaded_patch_bytes);
  }
}

TEST_F(LoadReports, KeepToTheBudget) {
  bench_.options.memory_budget = 4U << 20;
  bench_.options.pinned_budget = 1U << 20;
  const LoadReport report = load();
  for (const PartPlan& plan : report.parts) {
    EXPECT_LE(plan.resident_bytes, bench_.options.memory_budget) << plan.part;
    EXPECT_LE(plan.pinned_bytes, bench_.options.pinned_budget) << plan.part;
  }
  EXPECT_GT(unet(report).on_demand_bytes, 0U);
  EXPECT_GT(unet(report).pinned_bytes, 0U);
  EXPECT_GT(unet(report).patches_in_forward, 0U);
  EXPECT_LE(report.account.resident_bytes, bench_.options.memory_budget);
  EXPECT_LE(report.account.peak_resident_bytes, bench_.options.memory_budget + largest(report));
}

TEST_F(LoadReports, WithoutABudgetMakeEverythingOnDemand) {
  bench_.options.no_resident_weights = true;
  const LoadReport report = load();
  for (const PartPlan& plan : report.parts) EXPECT_EQ(plan.resident_bytes, 0U) << plan.part;
  EXPECT_EQ(unet(report).patches_in_forward, 117U);
  EXPECT_THAT(report.account.entries, IsEmpty());
}

TEST_F(LoadReports, ShowSideBranches) {
  bench_.options.lora_apply_mode = "branch";
  const LoadReport report = load();
  EXPECT_EQ(std::ranges::count_if(unet(report).modules, [](const PlannedModule& module) { return module.branches == 1; }), 117);
  EXPECT_EQ(std::ranges::count(unet(report).modules, true, &PlannedModule::patched), 0);
  EXPECT_TRUE(std::ranges::any_of(report.account.entries, [](const MemoryEntry& entry) { return entry.owner == "adapter"; }));
}

TEST_F(LoadReports, ShowModulesThatArePatchedInsideOfEachForward) {
  bench_.options.lora_apply_mode = "on-demand";
  const LoadReport report = load();
  EXPECT_EQ(unet(report).patches_in_forward, 117U);
  for (const PlannedModule& module : unet(report).modules) EXPECT_EQ(module.place == "on demand", module.patched) << module.name;
}

TEST_F(LoadReports, LeaveNothingInUse) {
  const Engine engine(bench_.options);
  (void)engine.load({kDemoModel, {}});
  for (const MemoryEntry& entry : engine.memory().entries) EXPECT_FALSE(entry.in_use) << entry.name;
}

}  // namespace
}  // namespace veneer::engine
