// Expanding nodes of the testing pack: mixed returns, faulty expansions, and loops by recursive expansion.
#include <map>
#include <set>

#include "graph/graph_builder.h"
#include "graph/prompt.h"
#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using Run = std::function<NodeResult(NodeContext&, const Inputs&)>;
constexpr int kLoopValues = 4;

NodeDef node(std::string name, std::vector<InputDef> inputs, std::vector<OutputDef> outputs, Run run) {
  NodeDef def;
  def.class_type = std::move(name);
  def.inputs = std::move(inputs);
  def.outputs = std::move(outputs);
  def.run = std::move(run);
  return def;
}

OutputDef out(std::string type) { return {"", std::move(type), false, ""}; }
std::string value_name(int i) { return "initial_value" + std::to_string(i); }

std::vector<InputDef> with_values(std::vector<InputDef> inputs, int first) {
  for (int i = first; i < kLoopValues; ++i) inputs.push_back(InputDef::socket(value_name(i), "*").as_optional());
  return inputs;
}

std::vector<OutputDef> flow_and_values() {
  std::vector<OutputDef> outputs = {out("FLOW_CONTROL")};
  for (int i = 0; i < kLoopValues; ++i) outputs.push_back(out("*"));
  return outputs;
}

NodeDef while_open() {
  return node("TestWhileLoopOpen", with_values({InputDef::socket("condition", "BOOLEAN")}, 0), flow_and_values(), [](NodeContext&, const Inputs& in) {
    std::vector<Value> values = {Value::text("stub")};
    for (int i = 0; i < kLoopValues; ++i) values.push_back(in.value(value_name(i)));
    return NodeResult(values);
  });
}

// The nodes between `open` and `close`, both included: those that depend on `open` among all that `close` depends on.
std::set<std::string> loop_body(const GraphView& graph, const std::string& open, const std::string& close) {
  std::map<std::string, std::vector<std::string>> dependents;
  std::vector<std::string> stack = {close};
  std::set<std::string> seen = {close};
  while (!stack.empty()) {
    const std::string id = stack.back();
    stack.pop_back();
    for (const auto& [name, source] : graph.node(id).inputs) {
      const Link* link = std::get_if<Link>(&source);
      if (link == nullptr) continue;
      dependents[link->node_id].push_back(id);
      if (seen.insert(link->node_id).second) stack.push_back(link->node_id);
    }
  }
  std::set<std::string> body = {open, close};
  stack = {open};
  while (!stack.empty()) {
    const std::string id = stack.back();
    stack.pop_back();
    for (const std::string& next : dependents[id]) {
      if (body.insert(next).second) stack.push_back(next);
    }
  }
  return body;
}

NodeResult loop_again(NodeContext& context, const Inputs& in) {
  std::vector<Value> values(kLoopValues);
  for (int i = 0; i < kLoopValues; ++i) values[static_cast<size_t>(i)] = in.value(value_name(i));
  if (!in.boolean("condition")) return NodeResult(values);
  const std::string open = in.json("flow_control")[0].get<std::string>();
  const GraphView& before = context.graph();
  const std::set<std::string> body = loop_body(before, open, context.node_id());
  const auto local = [&](const std::string& id) { return id == context.node_id() ? std::string("Recurse") : id; };
  GraphBuilder graph(context);
  for (const std::string& id : body) graph.node(before.node(id).class_type, local(id)).display(id);
  for (const std::string& id : body) {
    GraphBuilder::Node& copy = *graph.find(local(id));
    for (const auto& [name, source] : before.node(id).inputs) {
      const Link* link = std::get_if<Link>(&source);
      copy.set(name, link != nullptr && body.contains(link->node_id) ? graph.find(local(link->node_id))->out(link->slot) : source);
    }
  }
  for (int i = 0; i < kLoopValues; ++i) graph.find(open)->set(i == 0 ? "remaining" : value_name(i), values[static_cast<size_t>(i)]);
  std::vector<Source> results(kLoopValues);
  for (int i = 0; i < kLoopValues; ++i) results[static_cast<size_t>(i)] = graph.find("Recurse")->out(i);
  return NodeResult::expand(graph.finish(), std::move(results));
}

NodeDef while_close() {
  std::vector<OutputDef> outputs(kLoopValues, out("*"));
  return node("TestWhileLoopClose",
              with_values({InputDef::socket("flow_control", "FLOW_CONTROL").as_raw_link(), InputDef::socket("condition", "BOOLEAN")}, 0),
              std::move(outputs), loop_again);
}

NodeDef for_open() {
  std::vector<OutputDef> outputs = {out("FLOW_CONTROL"), out("INT")};
  for (int i = 1; i < kLoopValues; ++i) outputs.push_back(out("*"));
  return node("TestForLoopOpen", with_values({InputDef::integer("remaining", 1, 0, 100000)}, 1), std::move(outputs),
              [](NodeContext& context, const Inputs& in) {
                GraphBuilder graph(context);
                GraphBuilder::Node& open = graph.node("TestWhileLoopOpen").set("condition", Value::boolean(in.integer("remaining") != 0));
                std::vector<Source> results = {Value::text("stub"), in.value("remaining")};
                for (int i = 1; i < kLoopValues; ++i) {
                  if (in.has(value_name(i))) open.set(value_name(i), in.value(value_name(i)));
                  results.emplace_back(open.out(i + 1));
                }
                return NodeResult::expand(graph.finish(), std::move(results));
              });
}

NodeDef for_close() {
  std::vector<OutputDef> outputs;
  for (int i = 1; i < kLoopValues; ++i) outputs.push_back(out("*"));
  std::vector<InputDef> inputs = with_values({InputDef::socket("flow_control", "FLOW_CONTROL")}, 1);
  for (InputDef& input : inputs) input.raw_link = true;
  return node("TestForLoopClose", std::move(inputs), std::move(outputs), [](NodeContext& context, const Inputs& in) {
    const std::string open = in.json("flow_control")[0].get<std::string>();
    GraphBuilder graph(context);
    GraphBuilder::Node& rest = graph.node("TestMinusOne").set("a", Link{open, 1});
    GraphBuilder::Node& more = graph.node("TestToBool").set("value", rest.out(0));
    GraphBuilder::Node& close = graph.node("TestWhileLoopClose");
    close.set("flow_control", Link{open, 0}).set("condition", more.out(0)).set(value_name(0), rest.out(0));
    std::vector<Source> results;
    for (int i = 1; i < kLoopValues; ++i) {
      if (in.has(value_name(i))) close.set(value_name(i), source_of(in.json(value_name(i))));
      results.emplace_back(close.out(i));
    }
    return NodeResult::expand(graph.finish(), std::move(results));
  });
}

NodeDef mixed_returns() {
  return node(
      "TestMixedExpansionReturns", {InputDef::socket("input1", "FLOAT")}, {out("IMAGE"), out("IMAGE")}, [](NodeContext& context, const Inputs& in) {
        const double level = in.number("input1");
        const auto gray = picture(static_cast<int>(level * 255));
        if (level < 0.15) return NodeResult{gray, picture(255)};
        if (level < 0.25) return NodeResult::with_ui(nullptr, {gray, picture(255)});
        GraphBuilder graph(context);
        GraphBuilder::Node& mask = graph.node("StubMask").set("value", Value::number(level));
        GraphBuilder::Node& black = graph.node("StubImage").set("content", Value::text("BLACK"));
        GraphBuilder::Node& white = graph.node("StubImage").set("content", Value::text("WHITE"));
        GraphBuilder::Node& mix = graph.node("TestLazyMixImages").set("image1", black.out(0)).set("image2", white.out(0)).set("mask", mask.out(0));
        return NodeResult::expand(graph.finish(), {mix.out(0), white.out(0)});
      });
}

NodeDef dynamic_cycle() {
  return node("TestDynamicDependencyCycle", {InputDef::socket("input1", "IMAGE"), InputDef::socket("input2", "IMAGE")}, {out("IMAGE")},
              [](NodeContext& context, const Inputs& in) {
                GraphBuilder graph(context);
                GraphBuilder::Node& first = graph.node("TestVariadicAverage");
                GraphBuilder::Node& second = graph.node("TestVariadicAverage").set("input1", in.value("input2")).set("input2", first.out(0));
                first.set("input1", in.value("input1")).set("input2", second.out(0));
                return NodeResult::expand(graph.finish(), {first.out(0)});
              });
}

NodeDef faulty_expansion() {
  return node("TestFaultyExpansion", {InputDef::choice("kind", {"same id", "unknown class", "unknown link", "endless"})}, {out("IMAGE")},
              [](NodeContext& context, const Inputs& in) {
                const std::string kind = in.text("kind");
                ExpansionNode child;
                child.id = kind == "same id" ? context.node().real_node_id : context.node_id() + ".0.0.1";
                child.class_type = kind == "unknown class" ? "NoSuchNode" : kind == "endless" ? "TestFaultyExpansion" : "StubImage";
                child.inputs = {{kind == "endless" ? "kind" : "content", Value::text(kind == "endless" ? "endless" : "WHITE")}};
                return NodeResult::expand({child}, {Link{kind == "unknown link" ? "nowhere" : child.id, 0}});
              });
}

NodeDef expands_into_output() {
  return node("TestExpandsIntoOutput", {InputDef::socket("image", "IMAGE"), InputDef::integer("salt", 0, 0, 9)}, {out("IMAGE")},
              [](NodeContext& context, const Inputs& in) {
                GraphBuilder graph(context);
                GraphBuilder::Node& source = graph.node("StubImage").set("content", Value::text("NOISE"));
                graph.node("PreviewImage").set("images", source.out(0));
                return NodeResult::expand(graph.finish(), {in.value("image")});
              });
}

}  // namespace

std::vector<NodeDef> loop_testing_nodes() {
  std::vector<NodeDef> defs;
  for (NodeDef& def : std::vector<NodeDef>{while_open(), while_close(), for_open(), for_close(), mixed_returns(), dynamic_cycle(), faulty_expansion(),
                                           expands_into_output()}) {
    defs.push_back(std::move(def));
  }
  defs.push_back(node("TestMinusOne", {InputDef::socket("a", "INT")}, {out("INT")},
                      [](NodeContext&, const Inputs& in) { return NodeResult{Value::integer(in.integer("a") - 1)}; }));
  defs.push_back(node("TestToBool", {InputDef::socket("value", "INT")}, {out("BOOLEAN")},
                      [](NodeContext&, const Inputs& in) { return NodeResult{Value::boolean(in.integer("value") != 0)}; }));
  return defs;
}

}  // namespace veneer::graph
