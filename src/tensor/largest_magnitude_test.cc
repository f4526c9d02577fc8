#include "tensor/largest_magnitude.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/convert.h"

namespace veneer {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST(LargestMagnitude, TheLargestMagnitudeIsFoundAtEveryPlaceOnEveryInstructionSet) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const size_t count : {1U, 5U, 32U, 67U}) {
      for (size_t at = 0; at < count; ++at) {
        std::vector<float> values(count, -1.5F);
        values[at] = -3.0F;
        EXPECT_EQ(largest_magnitude(values), 3.0F) << hwy::TargetName(target) << " " << at << " of " << count;
        values[at] = -kInf;
        EXPECT_EQ(largest_magnitude(values), kInf) << hwy::TargetName(target) << " " << at << " of " << count;
        values[at] = -std::numeric_limits<float>::quiet_NaN();
        EXPECT_TRUE(std::isnan(largest_magnitude(values))) << hwy::TargetName(target) << " " << at << " of " << count;
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(LargestMagnitude, LongSpansAreSearchedToTheEnd) {
  std::vector<float> values(size_t{1} << 19, 0.25F);
  EXPECT_EQ(largest_magnitude(values), 0.25F);
  values.back() = 9;
  EXPECT_EQ(largest_magnitude(values), 9.0F);
  EXPECT_EQ(largest_magnitude(std::span<const float>()), 0.0F);
}

TEST(LargestMagnitude, HalvesAreTakenAsTheyAreStored) {
  for (const float value : {-65504.0F, 6e-8F, -kInf}) {
    Tensor tensor = Tensor::zeros({9}, DType::f32);
    tensor.mutable_floats()[7] = value;
    const Tensor halves = to_dtype(tensor, DType::f16);
    EXPECT_EQ(largest_magnitude(halves), std::fabs(to_dtype(halves, DType::f32).floats()[7])) << value;
  }
  Tensor tensor = Tensor::zeros({3}, DType::f32);
  tensor.mutable_floats()[1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(largest_magnitude(to_dtype(tensor, DType::f16))));
}

}  // namespace
}  // namespace veneer
