#include "graph/execution_plan.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

NodeRegistry registry() {
  const auto node = [](std::string name, std::vector<InputDef> inputs, bool output) {
    NodeDef def;
    def.class_type = std::move(name);
    def.inputs = std::move(inputs);
    def.outputs = {{"", "IMAGE", false, ""}};
    def.output_node = output;
    def.run = [](NodeContext&, const Inputs&) { return NodeResult{}; };
    return def;
  };
  NodeRegistry all;
  all.add(node("Make", {InputDef::integer("n", 0, 0, 9)}, false));
  all.add(node("Join", {InputDef::socket("a", "IMAGE"), InputDef::socket("b", "IMAGE").as_optional()}, false));
  NodeDef lazy = node("Lazy", {InputDef::socket("a", "IMAGE"), InputDef::socket("b", "IMAGE").as_lazy()}, false);
  lazy.check_lazy_status = [](NodeContext&, const Inputs&) { return std::vector<std::string>{}; };
  all.add(std::move(lazy));
  all.add(node("Save", {InputDef::socket("a", "IMAGE")}, true));
  NodeDef fresh = node("Fresh", {}, false);
  fresh.change_fingerprint = [](const Environment&, const Inputs&) { return never_same(); };
  all.add(std::move(fresh));
  return all;
}

struct Planned {
  Prompt prompt;
  std::vector<PlannedStep> steps;
  std::string order() const {
    std::string out;
    for (const PlannedStep& step : steps) out += (step.runs ? "" : "-") + prompt.nodes()[step.node].id + " ";
    return out;
  }
  const PlannedStep& of(const std::string& id) const {
    for (const PlannedStep& step : steps) {
      if (prompt.nodes()[step.node].id == id) return step;
    }
    throw std::runtime_error(id);
  }
};

Planned plan(const char* text) {
  Planned out;
  out.prompt = Prompt::from_json(parse_json(text));
  out.steps = execution_plan(out.prompt, registry(), Environment());
  return out;
}

TEST(ExecutionPlan, PutsNodesBehindWhatTheyDependOnAndUnneededOnesLast) {
  const Planned out = plan(R"({"9": {"class_type": "Make", "inputs": {"n": 1}}, "s": {"class_type": "Save", "inputs": {"a": ["j", 0]}},
    "j": {"class_type": "Join", "inputs": {"a": ["m", 0], "b": ["m", 0]}}, "m": {"class_type": "Make", "inputs": {"n": 2}}})");
  EXPECT_EQ(out.order(), "m j s -9 ");
  EXPECT_EQ(out.of("j").depends_on, std::vector<std::string>{"m"});
}

TEST(ExecutionPlan, WhatOnlyALazyInputAsksForStandsBehindTheOthers) {
  const Planned out = plan(R"({"s": {"class_type": "Save", "inputs": {"a": ["l", 0]}},
    "l": {"class_type": "Lazy", "inputs": {"a": ["m", 0], "b": ["n", 0]}}, "n": {"class_type": "Make", "inputs": {"n": 1}},
    "m": {"class_type": "Make", "inputs": {"n": 2}}})");
  EXPECT_EQ(out.order(), "m l s n ");
}

TEST(ExecutionPlan, EqualNodesShareASignatureAndUnstableOnesHaveNone) {
  const Planned out = plan(R"({"a": {"class_type": "Make", "inputs": {"n": 1}}, "b": {"class_type": "Make", "inputs": {"n": 1}},
    "c": {"class_type": "Make", "inputs": {"n": 2}}, "f": {"class_type": "Fresh", "inputs": {}},
    "g": {"class_type": "Join", "inputs": {"a": ["f", 0]}}})");
  EXPECT_EQ(out.of("a").signature, out.of("b").signature);
  EXPECT_NE(out.of("a").signature, out.of("c").signature);
  EXPECT_EQ(out.of("f").signature, "");
  EXPECT_EQ(out.of("g").signature, "");
}

TEST(ExecutionPlan, TellsACycleAndEnds) {
  const Planned out = plan(R"({"s": {"class_type": "Save", "inputs": {"a": ["x", 0]}}, "x": {"class_type": "Join", "inputs": {"a": ["y", 0]}},
    "y": {"class_type": "Join", "inputs": {"a": ["x", 0]}}})");
  EXPECT_EQ(out.order(), "-s -x -y ");
  EXPECT_TRUE(out.of("x").in_cycle);
  EXPECT_TRUE(out.of("y").in_cycle);
  EXPECT_FALSE(out.of("s").in_cycle);
}

TEST(ExecutionPlan, NeedsEveryClass) { EXPECT_THROW(plan(R"({"1": {"class_type": "None", "inputs": {}}})"), Error); }

}  // namespace
}  // namespace veneer::graph
