#include "registry/nearest_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace veneer::registry {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(EditDistance, CountsEditsAndIgnoresCase) {
  EXPECT_EQ(edit_distance("kitten", "sitting", 9), 3u);
  EXPECT_EQ(edit_distance("", "abc", 9), 3u);
  EXPECT_EQ(edit_distance("abc", "", 9), 3u);
  EXPECT_EQ(edit_distance("Model.SAFETENSORS", "model.safetensors", 9), 0u);
}

TEST(EditDistance, StopsAtTheBound) {
  EXPECT_EQ(edit_distance("aaaaaaaa", "bbbbbbbb", 3), 4u);
  EXPECT_EQ(edit_distance("a", "abcdefgh", 3), 4u);
  EXPECT_EQ(edit_distance("kitten", "sitting", 3), 3u);
}

TEST(NearestNames, PutsTheNearestFirstAndAtMostThree) {
  const std::vector<std::string> names = {"model_v3", "model_v12", "another", "model_v2", "model_v22"};
  EXPECT_THAT(nearest_names("model_v2", names), ElementsAre("model_v2", "model_v3", "model_v12"));
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
