#include "graph/value_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What a prompt's tracker saw: levels of pictures, in order; and how many trackers are alive.
struct Seen {
  std::vector<double> levels;
  std::vector<std::string> prompts;
  int alive = 0;
};

struct PictureTracker final : ValueTracker {
  explicit PictureTracker(Seen& where) : seen(where) { ++seen.alive; }
  ~PictureTracker() override { --seen.alive; }
  void add(const Value& value) noexcept override {
    if (value.holds<Picture>()) seen.levels.push_back(value.get<Picture>().level);
  }
  Seen& seen;
};

class ValueTrackerTest : public ::testing::Test {
 protected:
  ValueTrackerTest() {
    bench_.environment.add(std::make_shared<ValueTracking>(ValueTracking{[this](const std::string& prompt) {
      seen_.prompts.push_back(prompt);
      return std::make_unique<PictureTracker>(seen_);
    }}));
  }

  static std::string prompt(const std::string& prefix) {
    return R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
      "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
      "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": ")" +
           prefix + R"("}},
      "4": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  }

  Seen seen_;
  Bench bench_;
};

TEST_F(ValueTrackerTest, SeesEachOutputOnceWhereItFirstFlows) {
  bench_.run(prompt("a"));
  EXPECT_THAT(seen_.levels, ElementsAre(0, 255));  // 2 -> 3 and 2 -> 4 are one output
  EXPECT_EQ(seen_.prompts.size(), 1U);
  EXPECT_EQ(seen_.alive, 0);
}

TEST_F(ValueTrackerTest, SeesWhatComesFromTheCacheAndOnlyWhatFlows) {
  bench_.run(prompt("a"));
  seen_.levels.clear();
  bench_.run(prompt("b"));  // only node 3 runs again
  EXPECT_THAT(seen_.levels, ElementsAre(255));
  seen_.levels.clear();
  bench_.run(prompt("b"));
  EXPECT_THAT(seen_.levels, IsEmpty());
}

TEST_F(ValueTrackerTest, EndsWithAPromptThatFails) {
  bench_.run(R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": "runtime", "text": "no", "number": 1}},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})");
  EXPECT_EQ(bench_.result.status, ExecutionStatus::error);
  EXPECT_EQ(seen_.alive, 0);
}

}  // namespace
}  // namespace veneer::graph
