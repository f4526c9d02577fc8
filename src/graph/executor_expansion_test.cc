#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

std::string for_loop(int rounds, const std::string& source_extra = "") {
  return R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 18, "width": 18, "batch_size": 1}},
    "2": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 18, "width": 18, "batch_size": 1}},
    "3": {"class_type": "TestForLoopOpen", "inputs": {"remaining": )" +
         std::to_string(rounds) + R"(, "initial_value1": ["2", 0]}},
    "4": {"class_type": "TestVariadicAverage", "inputs": {"input1": )" +
         (source_extra.empty() ? std::string(R"(["1", 0])") : R"(["9", 0])") + R"(, "input2": ["3", 2]}},
    "5": {"class_type": "TestForLoopClose", "inputs": {"flow_control": ["3", 0], "initial_value1": ["4", 0]}},
    "6": {"class_type": "PreviewImage", "inputs": {"images": ["5", 0]}})" +
         source_extra + "}";
}

TEST(Expansion, NumbersChildrenBelowTheirParentAndShowsThemAsIt) {
  Bench bench;
  bench.run(for_loop(1));
  EXPECT_THAT(bench.seen.events, Contains("executing 5.0.0.1 as 5"));
  EXPECT_THAT(bench.seen.events, Contains("executing 5.0.0.3 as 5"));
  EXPECT_EQ(std::count(bench.seen.events.begin(), bench.seen.events.end(), "executing 5"), 1);
  EXPECT_THAT(bench.shown("6"), ElementsAre(127.5));
}

TEST(Expansion, LoopsByRecursion) {
  for (const CachePolicy policy : {CachePolicy::classic(), CachePolicy::lru(0), CachePolicy::lru(100), CachePolicy::none()}) {
    Bench bench(policy);
    double expected = 255;
    for (int rounds = 1; rounds <= 4; ++rounds) {
      bench.run(for_loop(rounds));
      expected /= 2;
      EXPECT_THAT(bench.shown("6"), ElementsAre(expected)) << rounds;
    }
  }
}

TEST(Expansion, NamesNodesOfNestedExpansionsAsTheRecordingDoes) {
  Bench bench;
  bench.run(for_loop(2));
  EXPECT_THAT(bench.seen.events, IsSupersetOf({"executing 5.0.0.3.0.0.3 as 3", "executing 5.0.0.3.0.0.4 as 4", "executing 5.0.0.3.0.0.5.0.0.1 as 5",
                                               "executing 5.0.0.3.0.0.5.0.0.2 as 5", "executing 5.0.0.3.0.0.Recurse as 5"}));
}

TEST(Expansion, IsServedWholeFromTheCache) {
  Bench bench;
  bench.run(for_loop(2));
  bench.run(for_loop(2));
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

TEST(Expansion, RunsAChangingNodeInEveryRunOfALoop) {
  Bench bench;
  const std::string changing = R"(, "9": {"class_type": "TestCustomIsChanged", "inputs": {"image": ["1", 0], "should_change": true}})";
  for (const int rounds : {1, 2, 3, 2}) {
    bench.run(for_loop(rounds, changing));
    EXPECT_TRUE(bench.seen.did_run("9"));
    EXPECT_THAT(bench.shown("6"), ElementsAre(255.0 / (1 << rounds)));
  }
}

TEST(Expansion, CombinesMixedReturnsOfOneMappingInOrder) {
  Bench bench;
  const std::string prompt = R"({"1": {"class_type": "TestMakeListNode", "inputs": {"value1": 0.1, "value2": 0.2, "value3": 0.3}},
    "2": {"class_type": "TestMixedExpansionReturns", "inputs": {"input1": ["1", 0]}},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}, "4": {"class_type": "PreviewImage", "inputs": {"images": ["2", 1]}}})";
  for (const CachePolicy policy : {CachePolicy::classic(), CachePolicy::none()}) {
    Bench each(policy);
    each.run(prompt);
    EXPECT_THAT(each.shown("3"), ElementsAre(25, 51, 76.5));
    EXPECT_THAT(each.shown("4"), ElementsAre(255, 255, 255));
    EXPECT_THAT(each.seen.events, Contains("executing 2.2.0.4 as 2"));
  }
}

TEST(Expansion, RunsOutputNodesOfTheSubGraph) {
  Bench bench;
  const auto prompt = [](int salt) {
    return R"({"1": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 18, "width": 18, "batch_size": 1}},
      "2": {"class_type": "TestExpandsIntoOutput", "inputs": {"image": ["1", 0], "salt": )" +
           std::to_string(salt) + R"(}},
      "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  };
  bench.run(prompt(1));
  EXPECT_THAT(bench.shown("2.0.0.2"), ElementsAre(1));
  EXPECT_THAT(bench.shown("3"), ElementsAre(255));
  // The parent has to run again, its equal children need not; their record is told all the same.
  bench.run(prompt(2));
  EXPECT_TRUE(bench.seen.did_run("2"));
  EXPECT_FALSE(bench.seen.did_run("2.0.0.1"));
  EXPECT_FALSE(bench.seen.did_run("2.0.0.2"));
  EXPECT_THAT(bench.seen.events, Contains(R"(executed* 2.0.0.2 {"images": [1.0]})"));
}

TEST(Expansion, CycleIsBlamedOnTheExpandingNode) {
  Bench bench;
  bench.run(R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 19, "width": 19, "batch_size": 1}},
    "2": {"class_type": "StubImage", "inputs": {"content": "WHITE", "height": 19, "width": 19, "batch_size": 1}},
    "3": {"class_type": "TestDynamicDependencyCycle", "inputs": {"input1": ["1", 0], "input2": ["2", 0]}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::error);
  ASSERT_TRUE(bench.result.error.has_value());
  const Json error = bench.result.error->to_json();
  EXPECT_EQ(error["node_id"], "3");
  EXPECT_EQ(error["node_type"], "TestDynamicDependencyCycle");
  EXPECT_EQ(error["exception_message"], "Dependency cycle detected");
  EXPECT_EQ(error["exception_type"], "graph.DependencyCycleError");
  EXPECT_EQ(error["current_inputs"], Json::array());
  EXPECT_EQ(error["current_outputs"], Json::parse(R"(["1", "2", "3", "4"])"));
}

TEST(Expansion, ThatIsFaultyIsAnErrorOfItsNode) {
  ExecutorOptions options;
  options.max_nodes = 50;
  for (const std::string kind : {"same id", "unknown class", "unknown link", "endless"}) {
    Bench bench({}, options);
    bench.run(R"({"3": {"class_type": "TestFaultyExpansion", "inputs": {"kind": ")" + kind + R"("}},
      "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
    EXPECT_EQ(bench.result.status, ExecutionStatus::error) << kind;
    ASSERT_TRUE(bench.result.error.has_value());
    EXPECT_EQ(bench.result.error->node_id, "3") << kind;
  }
}

TEST(Expansion, WithoutEndIsRefusedBeforeItsIdsFillTheMemory) {
  Bench bench;
  bench.run(R"({"3": {"class_type": "TestFaultyExpansion", "inputs": {"kind": "endless"}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::error);
  ASSERT_TRUE(bench.result.error.has_value());
  EXPECT_NE(bench.result.error->to_json()["exception_message"].get<std::string>().find("nested too deeply"), std::string::npos);
}

TEST(ExecutionErrors, CarryWhatTheProtocolAsksFor) {
  Bench bench;
  const auto prompt = [](const std::string& kind) {
    return R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
      "2": {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": ")" +
           kind + R"(", "text": "boom", "number": 2.5}},
      "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  };
  bench.run(prompt("runtime"));
  EXPECT_EQ(bench.result.error.value().to_json(), Json::parse(R"({"prompt_id": "p", "node_id": "2", "node_type": "RecFail", "executed": ["1"],
    "exception_message": "boom\n", "exception_type": "RuntimeError", "traceback": [],
    "current_inputs": {"image": ["<IMAGE>"], "kind": ["runtime"], "text": ["boom"], "number": [2.5]}, "current_outputs": ["1", "2", "3"]})"));
  EXPECT_THAT(bench.seen.events, ElementsAre("start", "cached", "executing 1", "finished 1", "executing 2", "error 2 RuntimeError"));
  bench.run(prompt("value"));
  EXPECT_EQ(bench.result.error.value().exception_type, "ValueError");
  bench.run(prompt("oom"));
  EXPECT_EQ(bench.result.error.value().exception_type, "OutOfMemoryError");
  EXPECT_THAT(bench.result.error.value().exception_message, HasSubstr("TIPS: If the workflow worked before"));
}

TEST(ExecutionErrors, LeaveTheExecutorFitForTheNextPrompt) {
  Bench bench;
  bench.run(
      R"({"1": {"class_type": "ImageInvert", "inputs": {"image": "text"}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}})");
  EXPECT_EQ(bench.result.error.value().current_inputs, Json::parse(R"({"image": ["text"]})"));
  bench.run(for_loop(1));
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
}

TEST(Interruption, EndsTheRunAtTheNextProgressReport) {
  Bench bench;
  const std::string prompt = R"({"1": {"class_type": "StubImage", "inputs": {"content": "BLACK", "height": 16, "width": 16, "batch_size": 1}},
    "2": {"class_type": "RecFail", "inputs": {"image": ["1", 0], "kind": "cancel", "text": "", "number": 1}},
    "3": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  bench.run(prompt);
  EXPECT_EQ(bench.result.status, ExecutionStatus::interrupted);
  EXPECT_THAT(bench.seen.events, ElementsAre("start", "cached", "executing 1", "finished 1", "executing 2", "progress 2 1/3", "interrupted 2"));
  EXPECT_FALSE(bench.result.error.has_value());
}

TEST(Interruption, BeforeTheFirstNodeRunsNothing) {
  Bench bench;
  bench.cancel.cancel();
  bench.run(for_loop(1));
  EXPECT_EQ(bench.result.status, ExecutionStatus::interrupted);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

}  // namespace
}  // namespace veneer::graph
