#include "graph/value_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

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
  bool refuses = false;                 // outputs
  std::vector<std::thread::id> places;  // threads on which a node found the prompt's own service
};

// A service of one prompt.
struct OwnService {
  std::string prompt;
};

struct PictureTracker final : ValueTracker {
  PictureTracker(Seen& where, std::string id) : seen(where), prompt(std::move(id)) { ++seen.alive; }
  ~PictureTracker() override { --seen.alive; }
  void add(const Value& value) noexcept override {
    if (value.holds<Picture>()) seen.levels.push_back(value.get<Picture>().level);
  }
  void add_services(Environment& environment) override { environment.add(std::make_shared<OwnService>(OwnService{prompt})); }
  void before_output() override {
    if (seen.refuses) throw Error(ErrorCode::corrupt, "nothing of this is kept");
  }
  Seen& seen;
  std::string prompt;
};

class ValueTrackerTest : public ::testing::Test {
 protected:
  ValueTrackerTest() {
    bench_.environment.add(std::make_shared<ValueTracking>(ValueTracking{[this](const std::string& prompt) {
      seen_.prompts.push_back(prompt);
      return std::make_unique<PictureTracker>(seen_, prompt);
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

TEST_F(ValueTrackerTest, NodesFindTheServicesOfTheirPromptOnEveryThread) {
  NodeDef asks;
  asks.class_type = "AsksForService";
  asks.output_node = true;
  asks.run = [this](NodeContext& context, const Inputs&) {
    const OwnService* own = context.environment().find<OwnService>();
    if (own != nullptr && own->prompt == context.prompt_id()) seen_.places.push_back(std::this_thread::get_id());
    return NodeResult{};
  };
  bench_.registry.add(asks);
  asks.class_type = "AsksElsewhere";
  asks.async = true;
  bench_.registry.add(asks);
  for (const char* name : {"AsksForService", "AsksElsewhere"}) {
    bench_.run(R"({"1": {"class_type": ")" + std::string(name) + R"(", "inputs": {}}})");
    EXPECT_EQ(bench_.result.status, ExecutionStatus::success);
  }
  ASSERT_EQ(seen_.places.size(), 2U);
  EXPECT_NE(seen_.places[0], seen_.places[1]);
  EXPECT_EQ(bench_.environment.find<OwnService>(), nullptr);
}

TEST_F(ValueTrackerTest, MayRefuseThatAnythingIsKept) {
  seen_.refuses = true;
  bench_.run(prompt("a"));
  EXPECT_EQ(bench_.result.status, ExecutionStatus::error);
  EXPECT_THAT(bench_.result.executed, ElementsAre("1", "2"));
}

}  // namespace
}  // namespace veneer::graph
