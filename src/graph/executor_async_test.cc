// Async nodes, partial execution, big graphs.
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

// Each of the async nodes ends only when all are at work at once: the run would hang if they ran one after another.
TEST(AsyncNodes, RunSideBySide) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestMeeting", "inputs": {"value": ["1", 0], "parties": 3}},
    "4": {"class_type": "TestMeeting", "inputs": {"value": ["2", 0], "parties": 3}},
    "5": {"class_type": "TestMeeting", "inputs": {"value": ["2", 0], "parties": 3, "salt": 1}},
    "6": {"class_type": "TestVariadicAverage", "inputs": {"input1": ["3", 0], "input2": ["4", 0], "input3": ["5", 0]}},
    "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}}})");
  EXPECT_THAT(bench.shown("7"), ElementsAre(170));
  for (const char* id : {"3", "4", "5"}) EXPECT_THAT(bench.seen.events, Contains(std::string("progress ") + id + " 1/2"));
}

TEST(AsyncNodes, RunSideBySideInAnExpansionOfAnOutputNode) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("4": {"class_type": "TestParallelMeeting", "inputs": {"image1": ["1", 0], "image2": ["2", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["4", 0]}}})");
  EXPECT_THAT(bench.shown("5"), ElementsAre(127.5));
  EXPECT_THAT(bench.seen.events, Contains("executing 4.0.0.1 as 4"));
}

TEST(AsyncNodes, LetReadyNodesRunWhileTheyWait) {
  Bench bench;
  NodeDef late;
  late.class_type = "JoinMeeting";
  late.output_node = true;
  late.run = [](NodeContext& context, const Inputs&) {
    context.service<MeetingPlace>().meet(2, context.cancel());
    return NodeResult{};
  };
  bench.registry.add(std::move(late));
  bench.run(std::string("{") + kImages +
            R"("5": {"class_type": "JoinMeeting", "inputs": {}}, "3": {"class_type": "TestMeeting", "inputs": {"value": 1, "parties": 2}},
    "4": {"class_type": "PreviewAny", "inputs": {"source": ["3", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  EXPECT_THAT(bench.result.executed, ElementsAre("5", "3", "4"));
}

TEST(AsyncNodes, AreCachedAndMappedOverListsAndBlocked) {
  Bench bench;
  const std::string prompt =
      std::string("{") + kImages + R"("6": {"class_type": "TestMakeListNode", "inputs": {"value1": ["1", 0], "value2": ["2", 0], "value3": ["1", 0]}},
    "7": {"class_type": "TestMakeListNode", "inputs": {"value1": false, "value2": true, "value3": false}},
    "8": {"class_type": "TestExecutionBlocker", "inputs": {"input": ["6", 0], "block": ["7", 0], "verbose": false}},
    "3": {"class_type": "TestMeeting", "inputs": {"value": ["8", 0], "parties": 2}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}})";
  bench.run(prompt);
  EXPECT_THAT(bench.shown("4"), ElementsAre(0, 0));
  bench.run(prompt);
  EXPECT_THAT(bench.seen.ran, IsEmpty());
}

TEST(AsyncNodes, ErrorIsBlamedOnTheNodeAndEndsTheOthers) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestMeeting", "inputs": {"value": ["1", 0], "parties": 1, "fail": true}},
    "4": {"class_type": "TestMeeting", "inputs": {"value": ["2", 0], "parties": 9}},
    "6": {"class_type": "TestVariadicAverage", "inputs": {"input1": ["3", 0], "input2": ["4", 0]}},
    "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::error);
  EXPECT_EQ(bench.result.error.value().node_id, "3");
  EXPECT_EQ(bench.result.error.value().exception_message, "async trouble\n");
}

TEST(AsyncNodes, SyncErrorEndsTheRunWhileTheyArePending) {
  Bench bench;
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestMeeting", "inputs": {"value": ["1", 0], "parties": 9}},
    "4": {"class_type": "RecFail", "inputs": {"image": ["2", 0], "kind": "runtime", "text": "sync", "number": 1}},
    "6": {"class_type": "TestVariadicAverage", "inputs": {"input1": ["3", 0], "input2": ["4", 0]}},
    "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}}})");
  EXPECT_EQ(bench.result.error.value().node_id, "4");
}

TEST(AsyncNodes, WaitForEachOtherBeyondTheLimit) {
  ExecutorOptions options;
  options.max_async_calls = 1;
  Bench bench({}, options);
  bench.run(std::string("{") + kImages + R"("3": {"class_type": "TestMeeting", "inputs": {"value": ["1", 0], "parties": 1}},
    "4": {"class_type": "TestMeeting", "inputs": {"value": ["2", 0], "parties": 1}},
    "6": {"class_type": "TestVariadicAverage", "inputs": {"input1": ["3", 0], "input2": ["4", 0]}},
    "7": {"class_type": "PreviewImage", "inputs": {"images": ["6", 0]}}})");
  EXPECT_THAT(bench.shown("7"), ElementsAre(127.5));
}

constexpr char kTwoOutputs[] = R"("3": {"class_type": "TestOutputNodeWithSocketOutput", "inputs": {"image": ["1", 0], "value": 2.0}},
    "4": {"class_type": "PreviewImage", "inputs": {"images": ["3", 0]}}, "5": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";

TEST(PartialExecution, RunsSelectedOutputsAndTheOutputNodesTheyNeed) {
  Bench bench;
  bench.run(std::string("{") + kImages + kTwoOutputs, {"4"});
  EXPECT_THAT(bench.seen.ran, ElementsAre("1", "3", "4"));
  EXPECT_THAT(bench.shown("5"), IsEmpty());
}

TEST(PartialExecution, StillShowsCachedRecordsOfOthers) {
  Bench bench;
  bench.run(std::string("{") + kImages + kTwoOutputs);
  bench.run(std::string("{") + kImages + kTwoOutputs, {"4"});
  EXPECT_THAT(bench.shown("5"), ElementsAre(255));
  EXPECT_THAT(bench.seen.events, Not(Contains(HasSubstr("executed* 5"))));
}

TEST(PartialExecution, EmptyAndUnknownTargetsSelectNothing) {
  Bench bench;
  for (const std::vector<std::string>& targets : {std::vector<std::string>{}, {"99"}, {"1"}}) {
    ValidationOptions options;
    options.targets = targets;
    const Validation refused = bench.validate(std::string("{") + kImages + kTwoOutputs, options);
    EXPECT_EQ(refused.error, Json::parse(R"({"type": "prompt_no_outputs", "message": "Prompt has no outputs", "details": "", "extra_info": {}})"));
  }
}

TEST(OneInvalidOutput, LeavesTheOthersToRun) {
  Bench bench;
  const std::string prompt = std::string("{") + kImages + R"("4": {"class_type": "PreviewImage", "inputs": {"images": ["77", 0]}},
    "5": {"class_type": "PreviewImage", "inputs": {"images": ["2", 0]}}})";
  const Validation checked = bench.validate(prompt);
  EXPECT_TRUE(checked.ok());
  EXPECT_THAT(checked.outputs, ElementsAre("5"));
  EXPECT_EQ(checked.node_errors.size(), 1U);
  bench.run(prompt);
  EXPECT_THAT(bench.seen.ran, ElementsAre("2", "5"));
}

Json long_chain(int length) {
  Json prompt = Json::parse(R"({"0": {"class_type": "EmptyImage", "inputs": {"width": 1, "height": 1, "batch_size": 1, "color": 0}}})");
  Json::object_t& nodes = prompt.get_ref<Json::object_t&>();
  const auto add = [&](const std::string& id, const char* type, const char* input, int from) {
    Json node = {{"class_type", type}, {"inputs", {{input, Json::array({std::to_string(from), 0})}}}};
    static_cast<std::vector<Json::object_t::value_type>&>(nodes).emplace_back(id, std::move(node));
  };
  for (int i = 1; i < length; ++i) add(std::to_string(i), "ImageInvert", "image", i - 1);
  add("out", "PreviewImage", "images", length - 1);
  return prompt;
}

TEST(BigGraphs, ChainOfFiftyThousandNodesValidatesAndRunsWithoutRecursion) {
  for (const CachePolicy policy : {CachePolicy::classic(), CachePolicy::none()}) {
    Bench bench(policy);
    const Json prompt = long_chain(50'000);
    bench.run_json(prompt);
    EXPECT_EQ(bench.result.executed.size(), 50'001U);
    EXPECT_THAT(bench.shown("out"), ElementsAre(255));
  }
}

TEST(BigGraphs, ManyNodesOnOneSourceAndOneNodeOnManySources) {
  Bench bench;
  Json prompt = Json::parse(R"({"s": {"class_type": "EmptyImage", "inputs": {"width": 1, "height": 1, "batch_size": 1, "color": 8}}})");
  Json inputs = Json::object();
  for (int i = 0; i < 2000; ++i) {
    prompt[std::to_string(i)] = {{"class_type", "ImageInvert"}, {"inputs", {{"image", Json::array({"s", 0})}, {"salt", i}}}};
    inputs["input" + std::to_string(i + 1)] = Json::array({std::to_string(i), 0});
  }
  prompt["mean"] = {{"class_type", "TestVariadicAverage"}, {"inputs", inputs}};
  prompt["out"] = {{"class_type", "PreviewImage"}, {"inputs", {{"images", Json::array({"mean", 0})}}}};
  bench.run_json(prompt);
  EXPECT_THAT(bench.shown("out"), ElementsAre(247));
  EXPECT_EQ(bench.result.executed.size(), 2003U);
}

}  // namespace
}  // namespace veneer::graph
