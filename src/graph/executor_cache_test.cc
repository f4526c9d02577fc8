#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string picture_chain(const std::string& content = "BLACK", const std::string& prefix = "a") {
  return R"({"1": {"class_type": "StubImage", "inputs": {"content": ")" + content + R"(", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
    "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": ")" +
         prefix + R"("}}})";
}

std::string changed_chain(const std::string& inputs) {
  return R"({"3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}},
    "2": {"class_type": "TestCustomIsChanged", "inputs": {"image": ["1", 0])" +
         inputs + R"(}},
    "1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}}})";
}

TEST(ExecutorCache, TellsAFirstRunInTheOrderOfTheProtocol) {
  Bench bench;
  bench.run(picture_chain());
  EXPECT_THAT(bench.seen.events, ElementsAre("start", "cached", "executing 1", "finished 1", "executing 2", "finished 2", "executing 3",
                                             R"(executed 3 {"images": [255.0]})", "finished 3", "success"));
  EXPECT_THAT(bench.result.executed, ElementsAre("1", "2", "3"));
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
}

TEST(ExecutorCache, RunsNothingWhenTheSameGraphIsPostedTwice) {
  for (const CachePolicy policy : {CachePolicy::classic(), CachePolicy::lru(0), CachePolicy::lru(100)}) {
    Bench bench(policy);
    bench.run(picture_chain("NOISE"));
    bench.run(picture_chain("NOISE"));
    EXPECT_THAT(bench.seen.events, ElementsAre("start", "cached 1 2 3", R"(executed* 3 {"images": [254.0]})", "finished* 3", "success"));
    EXPECT_THAT(bench.shown("3"), ElementsAre(254));
  }
}

TEST(ExecutorCache, KeepsResultsOfRenamedNodes) {
  Bench bench;
  bench.run(picture_chain());
  bench.run(R"({"x.y[0]": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "b": {"class_type": "ImageInvert", "inputs": {"image": ["x.y[0]", 0]}},
    "c": {"class_type": "SaveImage", "inputs": {"images": ["b", 0], "filename_prefix": "a"}}})");
  EXPECT_THAT(bench.seen.ran, IsEmpty());
  EXPECT_THAT(bench.shown("c"), ElementsAre(255));
}

TEST(ExecutorCache, RunsAChangedNodeAndItsDescendantsOnly) {
  Bench bench;
  bench.run(picture_chain("BLACK", "a"));
  bench.run(picture_chain("BLACK", "b"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("3"));
  EXPECT_THAT(bench.seen.events, Contains("cached 1 2"));
  bench.run(picture_chain("WHITE", "b"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2", "3"));
}

TEST(ExecutorCache, CountsTheIdForClassesThatAskForIt) {
  Bench bench;
  const std::string prompt =
      R"({"ID": {"class_type": "TestOwnId", "inputs": {"value": 1}}, "2": {"class_type": "PreviewAny", "inputs": {"source": ["ID", 0]}}})";
  bench.run(prompt);
  bench.run(prompt);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
  std::string renamed = prompt;
  for (size_t at = renamed.find("ID"); at != std::string::npos; at = renamed.find("ID", at + 1)) renamed[at] = 'J';
  bench.run(renamed);
  EXPECT_THAT(bench.seen.ran, ElementsAre("JD", "2"));
}

TEST(ExecutorCache, RunsEqualNodesOfOneGraphOnceAndShowsTheRecordForBoth) {
  for (const CachePolicy policy : {CachePolicy::classic(), CachePolicy::lru(0), CachePolicy::none()}) {
    Bench bench(policy);
    bench.run(R"({"1": {"class_type": "StubImage", "inputs": {"content": "NOISE", "height": 33, "width": 33, "batch_size": 1}},
      "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "same"}},
      "3": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "same"}}})");
    EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2"));
    EXPECT_THAT(bench.seen.events, Contains(R"(executed* 3 {"images": [1.0]})"));
    EXPECT_THAT(bench.shown("3"), ElementsAre(1));
    ASSERT_EQ(bench.result.records.size(), 2U);
    EXPECT_EQ(bench.result.records[1].origin.node_id, "2");
  }
}

TEST(ExecutorCache, ClassicKeepsOnlyWhatTheLatestGraphUses) {
  Bench bench;
  bench.run(picture_chain("BLACK", "a"));
  bench.run(picture_chain("WHITE", "a"));
  bench.run(picture_chain("BLACK", "a"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2", "3"));
  EXPECT_EQ(bench.executor.cached_results(), 3U);
}

TEST(ExecutorCache, ClassicDropsOldResultsAlsoAfterAPromptThatFailed) {
  Bench bench;
  bench.run(picture_chain("BLACK", "a"));
  bench.run(R"({"1": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": "runtime", "text": "x", "number": 1}},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::error);
  EXPECT_EQ(bench.executor.cached_results(), 1U);
  bench.run(picture_chain("BLACK", "a"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2", "3"));
}

TEST(ExecutorCache, LruKeepsResultsOverOtherGraphs) {
  Bench bench(CachePolicy::lru(100));
  bench.run(picture_chain("BLACK", "a"));
  bench.run(picture_chain("WHITE", "a"));
  bench.run(picture_chain("BLACK", "a"));
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

TEST(ExecutorCache, LruForgetsTheOldestBeyondItsCapacity) {
  Bench bench(CachePolicy::lru(6));
  bench.run(picture_chain("BLACK", "a"));
  bench.run(picture_chain("WHITE", "a"));
  bench.run(picture_chain("BLACK", "b"));  // uses 1 and 2 again, adds one: seven results
  bench.run(picture_chain("BLACK", "b"));  // now one of the oldest has to go
  EXPECT_EQ(bench.executor.cached_results(), 6U);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

TEST(ExecutorCache, NoneKeepsNothingAfterAPrompt) {
  Bench bench(CachePolicy::none());
  bench.run(picture_chain());
  EXPECT_EQ(bench.executor.cached_results(), 0U);
  EXPECT_THAT(bench.shown("3"), ElementsAre(255));
  bench.run(picture_chain());
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2", "3"));
}

TEST(ExecutorCache, NoneDropsAResultAsSoonAsItsConsumersRan) {
  Bench bench(CachePolicy::none());
  std::weak_ptr<const Picture> watched;
  NodeDef make;
  make.class_type = "MakeWatched";
  make.outputs = {{"", "IMAGE", false, ""}};
  make.run = [&](NodeContext&, const Inputs&) {
    auto shared = std::make_shared<const Picture>();
    watched = shared;
    return NodeResult{Value::object("IMAGE", shared)};
  };
  bench.registry.add(std::move(make));
  bool alive_later = true;
  NodeDef look;
  look.class_type = "LookForWatched";
  look.inputs = {InputDef::socket("image", "IMAGE")};
  look.output_node = true;
  look.run = [&](NodeContext&, const Inputs&) {
    alive_later = !watched.expired();
    return NodeResult{};
  };
  bench.registry.add(std::move(look));
  bench.run(R"({"1": {"class_type": "MakeWatched", "inputs": {}}, "2": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}},
    "3": {"class_type": "LookForWatched", "inputs": {"image": ["2", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  EXPECT_FALSE(alive_later);
}

TEST(ExecutorCache, KeepsTheStateOfANodeWhileItsIdStaysInTheGraph) {
  Bench bench;
  const auto prompt = [](const std::string& id, int salt) {
    return R"({")" + id + R"(": {"class_type": "TestRemembers", "inputs": {"salt": )" + std::to_string(salt) + "}}}";
  };
  bench.run(prompt("1", 1));
  bench.run(prompt("1", 2));
  EXPECT_THAT(bench.shown("1"), ElementsAre(2));
  bench.run(prompt("2", 3));
  bench.run(prompt("1", 4));
  EXPECT_THAT(bench.shown("1"), ElementsAre(1));
}

TEST(ExecutorCache, KeepsResultsThatWereFinishedBeforeAFailure) {
  Bench bench;
  const auto prompt = [](const std::string& kind) {
    return R"({"1": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 16, "width": 16, "batch_size": 1}},
      "2": {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": ")" +
           kind + R"(", "text": "x", "number": 1}},
      "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  };
  bench.run(prompt("runtime"));
  bench.run(prompt("value"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("2"));
  bench.run(prompt("value"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("2"));  // the failed node itself left nothing
}

TEST(ExecutorCache, ClearForgetsEverything) {
  Bench bench;
  bench.run(picture_chain());
  bench.executor.clear();
  bench.run(picture_chain());
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "2", "3"));
}

TEST(ChangeFingerprint, RunsOnceWhileConstantAndAlwaysWhenNaN) {
  Bench bench;
  bench.run(changed_chain(R"(, "should_change": false)"));
  EXPECT_TRUE(bench.seen.did_run("2"));
  bench.run(changed_chain(R"(, "should_change": false)"));
  EXPECT_THAT(bench.seen.ran, IsEmpty());
  bench.run(changed_chain(R"(, "should_change": true)"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("2", "3"));
  bench.run(changed_chain(R"(, "should_change": true)"));
  EXPECT_THAT(bench.seen.ran, ElementsAre("2", "3"));
  EXPECT_THAT(bench.seen.events, Contains("cached 1"));
}

TEST(ChangeFingerprint, IsAskedOncePerPromptAndNodeWithLinksAsNone) {
  Bench bench;
  const std::string prompt = R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "5": {"class_type": "StubFloat", "inputs": {"value": 0.5}},
    "2": {"class_type": "TestIsChangedWithConstants", "inputs": {"image": ["1", 0], "value": ["5", 0]}},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}, "4": {"class_type": "PreviewAny", "inputs": {"source": ["2", 0]}}})";
  bench.run(prompt);
  EXPECT_EQ(bench.counters->change_questions, 1);
  bench.run(prompt);
  EXPECT_EQ(bench.counters->change_questions, 2);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

TEST(ChangeFingerprint, ThatThrowsCountsAsNaNWithARemark) {
  Bench bench;
  const std::string prompt = changed_chain(R"(, "mode": "throw")");
  bench.run(prompt);
  bench.run(prompt);
  EXPECT_THAT(bench.seen.ran, ElementsAre("2", "3"));
  EXPECT_THAT(bench.seen.events, Contains(HasSubstr("remark 2 change fingerprint failed: no fingerprint today")));
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
}

TEST(ChangeFingerprint, GivenInThePromptIsNotAsked) {
  Bench bench;
  const std::string prompt = R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "TestCustomIsChanged", "inputs": {"image": ["1", 0], "should_change": true}, "is_changed": "v1"},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  bench.run(prompt);
  bench.run(prompt);
  EXPECT_EQ(bench.counters->change_questions, 0);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

}  // namespace
}  // namespace veneer::graph
