// Lazy inputs, lists, blockers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kImages[] = R"("1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
  "2": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 16, "width": 16, "batch_size": 1}},)";

std::string lazy_mix(double mask) {
  return std::string("{") + kImages + R"("3": {"class_type": "StubMask", "inputs": {"value": )" + std::to_string(mask) + R"(}},
    "4": {"class_type": "TestLazyMixImages", "inputs": {"image1": ["1", 0], "image2": ["2", 0], "mask": ["3", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}}})";
}

TEST(LazyInputs, EvaluateOnlyWhatIsAskedFor) {
  Bench bench;
  bench.run(lazy_mix(0));
  EXPECT_THAT(bench.seen.events, ElementsAre("start", "cached", "executing 3", "finished 3", "executing 4", "executing 1", "finished 1",
                                             "executing 4", "finished 4", "executing 5", R"(executed 5 {"images": [0.0]})", "finished 5", "success"));
  bench.run(lazy_mix(1));
  EXPECT_FALSE(bench.seen.did_run("1"));
  EXPECT_TRUE(bench.seen.did_run("2"));
  Bench fresh;
  fresh.run(lazy_mix(0.5));
  EXPECT_TRUE(fresh.seen.did_run("1"));
  EXPECT_TRUE(fresh.seen.did_run("2"));
  EXPECT_THAT(fresh.shown("5"), ElementsAre(127.5));
}

TEST(LazyInputs, AreAskedForAgainUntilNothingIsMissing) {
  Bench bench;
  bench.run(lazy_mix(0.5));
  EXPECT_EQ(bench.counters->lazy_questions, 2);
  EXPECT_EQ(std::count(bench.seen.events.begin(), bench.seen.events.end(), "executing 4"), 2);
}

TEST(LazyInputs, InTheCacheAreSimplyThere) {
  Bench bench(CachePolicy::lru(100));
  bench.run(lazy_mix(0));
  bench.run(R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 16, "width": 16, "batch_size": 1}},
    "3": {"class_type": "StubMask", "inputs": {"value": 0.25}},
    "4": {"class_type": "TestLazyMixImages", "inputs": {"image1": ["1", 0], "image2": ["1", 0], "mask": ["3", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}}})");
  EXPECT_THAT(bench.seen.ran, ElementsAre("3", "4", "5"));
  EXPECT_EQ(std::count(bench.seen.events.begin(), bench.seen.events.end(), "executing 4"), 1);
}

TEST(LazyInputs, AreUnitedOverAListMapping) {
  Bench bench;
  bench.run(std::string("{") + kImages +
            R"("6": {"class_type": "StubMask", "inputs": {"value": 0.0}}, "7": {"class_type": "StubMask", "inputs": {"value": 0.5}},
    "8": {"class_type": "StubMask", "inputs": {"value": 1.0}},
    "3": {"class_type": "TestMakeListNode", "inputs": {"value1": ["6", 0], "value2": ["7", 0], "value3": ["8", 0]}},
    "4": {"class_type": "TestLazyMixImages", "inputs": {"image1": ["1", 0], "image2": ["2", 0], "mask": ["3", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}}})");
  EXPECT_THAT(bench.shown("5"), ElementsAre(0, 127.5, 255));
}

TEST(LazyInputs, AskingForSomethingThatIsNoLinkIsAnError) {
  Bench bench;
  const auto ask = [&](const std::string& name) {
    bench.run(std::string("{") + kImages + R"("4": {"class_type": "TestLazyWrong", "inputs": {"image": ["1", 0], "ask": ")" + name + R"("}},
      "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}}})");
    return bench.result.status;
  };
  EXPECT_EQ(ask("nothing"), ExecutionStatus::error);
  EXPECT_THAT(bench.seen.errors.at(0).exception_message, HasSubstr("input=nothing"));
  EXPECT_EQ(ask("ask"), ExecutionStatus::success);  // an input that is there already is ignored
}

TEST(LazyInputs, WorkWithPartialExecution) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "StubMask", "inputs": {"value": 0.0}},
    "4": {"class_type": "TestLazyMixImages", "inputs": {"image1": ["1", 0], "image2": ["2", 0], "mask": ["3", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}},
    "6": {"class_type": "ImageInvert", "inputs": {"image": ["2", 0]}}, "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}}})",
            {"5"});
  EXPECT_THAT(bench.seen.ran, ElementsAre("3", "4", "1", "5"));
  EXPECT_THAT(bench.shown("7"), IsEmpty());
}

TEST(Lists, CallANodePerElementAndAnnounceItOnce) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestMakeListNode", "inputs": {"value1": ["1", 0], "value2": ["2", 0]}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
  EXPECT_THAT(bench.shown("4"), ElementsAre(0, 255));
  EXPECT_EQ(std::count(bench.seen.events.begin(), bench.seen.events.end(), "executing 4"), 1);
}

TEST(Lists, RepeatTheLastElementOfTheShorter) {
  Bench bench;
  bench.run(R"({"1": {"class_type": "TestMakeListNode", "inputs": {"value1": 1, "value2": 2, "value3": 3}},
    "2": {"class_type": "TestMakeListNode", "inputs": {"value1": 1, "value2": 3}},
    "3": {"class_type": "TestIntConditions", "inputs": {"a": ["1", 0], "b": ["2", 0], "operation": "<"}},
    "4": {"class_type": "PreviewAny", "inputs": {"source": ["3", 0]}}})");
  EXPECT_EQ(bench.result.records.at(0).ui.at("text"), Json::parse("[false, true, false]"));
}

TEST(Lists, AreHandedWholeToANodeThatWantsThemConstantsToo) {
  Bench bench;
  bench.run(R"({"1": {"class_type": "TestMakeListNode", "inputs": {"value1": 1, "value2": 2, "value3": 3}},
    "2": {"class_type": "TestCountList", "inputs": {"list": ["1", 0], "extra": 5}}, "3": {"class_type": "PreviewAny", "inputs": {"source": ["2", 0]}}})");
  EXPECT_EQ(bench.result.records.at(0).ui.at("text"), Json::parse("[31]"));
}

TEST(Lists, NodeWithoutInputsIsCalledOnce) {
  Bench bench;
  int calls = 0;
  NodeDef def;
  def.class_type = "Nullary";
  def.output_node = true;
  def.run = [&](NodeContext&, const Inputs&) {
    ++calls;
    return NodeResult{};
  };
  bench.registry.add(std::move(def));
  bench.run(R"({"1": {"class_type": "Nullary", "inputs": {}}})");
  EXPECT_EQ(calls, 1);
}

std::string blocked_preview(bool verbose) {
  return std::string("{") + kImages + R"("5": {"class_type": "TestExecutionBlocker", "inputs": {"input": ["1", 0], "block": true, "verbose": )" +
         (verbose ? "true" : "false") + R"(}}, "3": {"class_type": "PreviewImage", "inputs": {"images": ["5", 0]}},
         "6": {"class_type": "ImageInvert", "inputs": {"image": ["5", 0]}}, "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}},
         "4": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
}

TEST(Blockers, KeepNodesFromRunningAndTheRunSucceeds) {
  Bench bench;
  bench.run(blocked_preview(false));
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  EXPECT_THAT(bench.shown("3"), IsEmpty());
  EXPECT_THAT(bench.shown("7"), IsEmpty());
  EXPECT_THAT(bench.shown("4"), ElementsAre(255));
  EXPECT_THAT(bench.seen.errors, IsEmpty());
  EXPECT_THAT(bench.seen.events, Not(Contains(HasSubstr("executed 3"))));
}

TEST(Blockers, TellTheirMessageAtTheFirstNodeThatReceivesThem) {
  Bench bench;
  bench.run(blocked_preview(true));
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  ASSERT_EQ(bench.seen.errors.size(), 2U);  // nodes 3 and 6; node 7 receives a silent one
  for (const ExecutionErrorEvent& error : bench.seen.errors) {
    EXPECT_EQ(error.exception_type, "ExecutionBlocked");
    EXPECT_EQ(error.exception_message, "Execution Blocked: Blocked Execution");
    EXPECT_EQ(error.to_json().at("current_inputs"), Json::array());
    EXPECT_EQ(error.to_json().at("current_outputs"), Json::array());
    EXPECT_FALSE(error.fatal);
    EXPECT_NE(error.node_id, "7");
  }
  EXPECT_FALSE(bench.result.error.has_value());
}

TEST(Blockers, BlockOnlyTheirElementOfAList) {
  Bench bench;
  bench.run(std::string("{") + kImages +
            R"("3": {"class_type": "TestMakeListNode", "inputs": {"value1": ["1", 0], "value2": ["2", 0], "value3": ["1", 0]}},
    "6": {"class_type": "TestMakeListNode", "inputs": {"value1": 1, "value2": 2, "value3": 1}},
    "7": {"class_type": "TestIntConditions", "inputs": {"a": ["6", 0], "b": 2, "operation": "=="}},
    "8": {"class_type": "TestExecutionBlocker", "inputs": {"input": ["3", 0], "block": ["7", 0], "verbose": false}},
    "9": {"class_type": "PreviewImage", "inputs": {"images": ["8", 0]}},
    "10": {"class_type": "TestMakeListNode", "inputs": {"value1": ["8", 0]}}, "11": {"class_type": "PreviewImage", "inputs": {"images": ["10", 0]}}})");
  EXPECT_THAT(bench.shown("9"), ElementsAre(0, 0));
  EXPECT_THAT(bench.shown("11"), ElementsAre(0, 0));
}

TEST(Blockers, BlockANodeThatWantsListsByAnyElement) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("6": {"class_type": "TestMakeListNode", "inputs": {"value1": 1, "value2": 2, "value3": 1}},
    "7": {"class_type": "TestIntConditions", "inputs": {"a": ["6", 0], "b": 2, "operation": "=="}},
    "8": {"class_type": "TestExecutionBlocker", "inputs": {"input": ["6", 0], "block": ["7", 0], "verbose": false}},
    "9": {"class_type": "TestCountList", "inputs": {"list": ["8", 0]}}, "3": {"class_type": "PreviewAny", "inputs": {"source": ["9", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  EXPECT_THAT(bench.result.records, IsEmpty());
}

TEST(UndeclaredInputs, AreDependenciesAndArePassedToNodesThatTakeAny) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestVariadicAverage",
      "inputs": {"input1": ["1", 0], "input2": ["1", 0], "input3": ["1", 0], "input4": ["2", 0]}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
  EXPECT_THAT(bench.shown("4"), ElementsAre(63.75));
  Bench other;
  other.run(std::string("{") + kImages + R"("3": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0], "unknown": ["2", 0], "more": 5}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
  EXPECT_TRUE(other.seen.did_run("2"));
  EXPECT_EQ(other.result.status, ExecutionStatus::success);
}

}  // namespace
}  // namespace veneer::graph
