// What a node sees of the run it is part of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_builder.h"
#include "graph/json_text.h"
#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::ElementsAre;

NodeDef output(std::string name, std::function<NodeResult(NodeContext&, const Inputs&)> run) {
  NodeDef def;
  def.class_type = std::move(name);
  def.inputs = {InputDef::integer("salt", 0, 0, 99).as_optional(), InputDef::hidden("prompt", "PROMPT")};
  def.output_node = true;
  def.run = std::move(run);
  return def;
}

TEST(NodeInARun, SeesThePromptAfterConversionAndTheExtraData) {
  Bench bench;
  std::string prompt;
  std::string extra;
  bench.registry.add(output("Look", [&](NodeContext& context, const Inputs& in) {
    prompt = dump_json(context.prompt());
    extra = dump_json(context.extra_pnginfo());
    EXPECT_FALSE(in.contains("prompt"));
    return NodeResult{};
  }));
  const Validation checked = bench.validate(R"({"9": {"inputs": {"salt": "5", "prompt": "forged"}, "class_type": "Look", "_meta": {"title": "T"}}})");
  ExecutionRequest request;
  request.outputs = checked.outputs;
  request.extra_pnginfo = Json::parse(R"({"workflow": {"nodes": []}})");
  bench.executor.run(checked.prompt, request, bench.seen);
  EXPECT_EQ(prompt, R"({"9": {"inputs": {"salt": 5, "prompt": "forged"}, "class_type": "Look", "_meta": {"title": "T"}}})");
  EXPECT_EQ(extra, R"({"workflow": {"nodes": []}})");
}

TEST(NodeInARun, SeesWhereItStandsAndTheGraphAroundIt) {
  Bench bench;
  std::vector<std::string> ids;
  NodeRef child;
  bench.registry.add(output("Look", [&](NodeContext& context, const Inputs&) {
    ids = context.graph().ids();
    child = context.node();
    EXPECT_EQ(context.graph().node("7.0.0.1").parent_id, "7");
    EXPECT_FALSE(context.graph().has("nobody"));
    EXPECT_THROW(context.graph().node("nobody"), Error);
    return NodeResult{};
  }));
  bench.registry.add(output("Expand", [](NodeContext& context, const Inputs&) {
    GraphBuilder graph(context);
    graph.node("Look");
    return NodeResult::expand(graph.finish(), {});
  }));
  bench.run(R"({"7": {"class_type": "Expand", "inputs": {}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
  EXPECT_THAT(ids, ElementsAre("7", "7.0.0.1"));
  EXPECT_EQ(child.node_id, "7.0.0.1");
  EXPECT_EQ(child.display_node_id, "7");
  EXPECT_EQ(child.real_node_id, "7");
  EXPECT_EQ(child.parent_node_id, "7");
}

TEST(NodeInARun, ErrorOfAChildIsBlamedOnTheOutermostParent) {
  Bench bench;
  bench.registry.add(output("Bad", [](NodeContext&, const Inputs&) -> NodeResult { throw Error(ErrorCode::unsupported, "no"); }));
  bench.registry.add(output("Expand", [](NodeContext& context, const Inputs&) {
    GraphBuilder graph(context);
    graph.node("Bad");
    return NodeResult::expand(graph.finish(), {});
  }));
  bench.run(R"({"7": {"class_type": "Expand", "inputs": {}}})");
  EXPECT_EQ(bench.result.error.value().node_id, "7");
  EXPECT_EQ(bench.result.error.value().node_type, "Expand");
  EXPECT_EQ(bench.result.error.value().exception_type, "NotImplementedError");
}

// An expansion that hands an object to its child; `fingerprint` says what the object is.
class ObjectConstants : public ::testing::Test {
 protected:
  void run_twice(std::optional<Fingerprint> fingerprint) {
    bench.registry.add(output("Expand", [fingerprint](NodeContext& context, const Inputs&) {
      GraphBuilder graph(context);
      graph.node("PreviewImage").set("images", Value::of("IMAGE", Picture{7}, fingerprint));
      return NodeResult::expand(graph.finish(), {});
    }));
    for (const char* salt : {"1", "2"}) bench.run(R"({"7": {"class_type": "Expand", "inputs": {"salt": )" + std::string(salt) + "}}}");
    EXPECT_THAT(bench.shown("7.0.0.1"), ElementsAre(7));
  }
  Bench bench;
};

TEST_F(ObjectConstants, NeverMatchWithoutAFingerprint) {
  run_twice(std::nullopt);
  EXPECT_THAT(bench.seen.ran, ElementsAre("7", "7.0.0.1"));
}

TEST_F(ObjectConstants, MatchByTheirFingerprint) {
  run_twice(Fingerprint{1, 2});
  EXPECT_THAT(bench.seen.ran, ElementsAre("7"));
}

TEST(Executors, ShareNothing) {
  Bench bench;
  Executor other(bench.registry, bench.environment);
  const std::string prompt = R"({"1": {"class_type": "TestRemembers", "inputs": {"salt": 1}}})";
  bench.run(prompt);
  const Validation checked = bench.validate(prompt);
  ExecutionRequest request;
  request.outputs = checked.outputs;
  Recorder seen;
  const ExecutionResult result = other.run(checked.prompt, request, seen);
  EXPECT_THAT(seen.ran, ElementsAre("1"));
  EXPECT_EQ(result.records.at(0).ui.at("images"), Json::parse("[1]"));
}

TEST(UnvalidatedPrompts, FailWithAnErrorAtTheirNode) {
  Bench bench;
  ExecutionRequest request;
  request.outputs = {"2"};
  const auto run = [&](const char* prompt) { return bench.executor.run(Prompt::from_json(parse_json(prompt)), request, bench.seen); };
  for (
      const char* prompt :
      {R"({"2": {"class_type": "PreviewImage", "inputs": {"images": ["77", 0]}}})", R"({"2": {"class_type": "PreviewImage", "inputs": {}}})",
       R"({"2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 3]}}, "1": {"class_type": "StubMask", "inputs": {"value": 0.5}}})",
       R"({"2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}, "1": {"class_type": "ImageInvert", "inputs": {"image": ["1", 0]}}})"}) {
    const ExecutionResult result = run(prompt);
    EXPECT_EQ(result.status, ExecutionStatus::error) << prompt;
    EXPECT_TRUE(result.error.has_value()) << prompt;
  }
  EXPECT_THROW(run(R"({"2": {"class_type": "NoSuchNode", "inputs": {}}})"), Error);
}

}  // namespace
}  // namespace veneer::graph
