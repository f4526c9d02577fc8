#include "registry/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace veneer::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NearestNames, PutsTheNearestFirstAndAtMostThree) {
  const std::vector<std::string> names = {"model_v3", "model_v12", "another", "model_v2", "model_v22"};
  EXPECT_THAT(nearest_names("model_v2", names), ElementsAre("model_v2", "model_v3", "model_v12"));
}

TEST(NearestNames, OfEquallyNearOnesTheFirstCount) {
  const std::vector<std::string> names = {"ab4", "ab1", "ab2", "ab3", "abc"};
  EXPECT_THAT(nearest_names("abc", names), ElementsAre("abc", "ab4", "ab1"));
  EXPECT_THAT(nearest_names("abd", names, 2), ElementsAre("ab4", "ab1"));
}

TEST(NearestNames, FindsTheSameFileInAnotherFolder) {
  const std::vector<std::string> names = {"people/portraits/night.safetensors", "b"};
  EXPECT_THAT(nearest_names("old\\night.safetensors", names), ElementsAre("people/portraits/night.safetensors"));
}

TEST(NearestNames, LeavesOutWhatIsFar) {
  const std::vector<std::string> names = {"xyz", "a much longer name"};
  EXPECT_THAT(nearest_names("model", names), IsEmpty());
  EXPECT_THAT(nearest_names("", names), IsEmpty());
}

}  // namespace
}  // namespace veneer::registry
