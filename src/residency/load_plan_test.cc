#include "residency/load_plan.h"

#include <gtest/gtest.h>

namespace veneer::residency {
namespace {

const std::vector<ModuleSize> kModules{{"b", 30, false}, {"a", 30, true}, {"big", 50, false}, {"tiny", 5, true}};

std::vector<size_t> resident(const LoadPlan& plan) {
  std::vector<size_t> out;
  for (const PlannedModule& module : plan.modules) {
    if (module.place == ModulePlace::resident) out.push_back(module.index);
  }
  return out;
}

TEST(LoadPlan, OrdersFromLargeToSmallThenByNameDownwards) { EXPECT_EQ(load_order(kModules), (std::vector<size_t>{2, 0, 1, 3})); }

TEST(LoadPlan, SkipsWhatDoesNotFitAndGoesOnWithSmallerOnes) {
  const LoadPlan plan = plan_load(kModules, 60, 0);
  EXPECT_EQ(resident(plan), (std::vector<size_t>{2, 3}));
  EXPECT_EQ(plan.resident_bytes, 55U);
}

TEST(LoadPlan, AtItsOwnSizeAModelIsWhollyResident) { EXPECT_EQ(resident(plan_load(kModules, 115, 0)).size(), 4U); }

TEST(LoadPlan, WithoutBudgetNothingIsResidentAndPatchesRunInTheForward) {
  const LoadPlan plan = plan_load(kModules, 0, 0);
  EXPECT_TRUE(resident(plan).empty());
  EXPECT_FALSE(plan.modules[0].patches_in_forward);
  EXPECT_TRUE(plan.modules[2].patches_in_forward);
  EXPECT_EQ(plan.pinned_bytes, 0U);
}

TEST(LoadPlan, PinsWhatIsLeftOutWithinItsOwnBudget) {
  const LoadPlan plan = plan_load(kModules, 0, 85);
  EXPECT_EQ(plan.pinned_bytes, 85U);  // big, b and tiny: a would pass it
  EXPECT_TRUE(plan.modules[0].pinned);
  EXPECT_TRUE(plan.modules[1].pinned);
  EXPECT_FALSE(plan.modules[2].pinned);
  EXPECT_TRUE(plan.modules[3].pinned);
}

}  // namespace
}  // namespace veneer::residency
