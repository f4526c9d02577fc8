// Lazy, list, blocker, validation, error and async nodes of the testing pack.
#include <algorithm>

#include "graph/graph_builder.h"
#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using Run = std::function<NodeResult(NodeContext&, const Inputs&)>;

NodeDef node(std::string name, std::vector<InputDef> inputs, std::vector<OutputDef> outputs, Run run) {
  NodeDef def;
  def.class_type = std::move(name);
  def.inputs = std::move(inputs);
  def.outputs = std::move(outputs);
  def.run = std::move(run);
  return def;
}

InputDef image(std::string name) { return InputDef::socket(std::move(name), "IMAGE"); }
InputDef any(std::string name) { return InputDef::socket(std::move(name), "*"); }
OutputDef out(std::string type) { return {"", std::move(type), false, ""}; }

NodeDef lazy_mix() {
  NodeDef def = node("TestLazyMixImages", {image("image1").as_lazy(), image("image2").as_lazy(), InputDef::socket("mask", "MASK")}, {out("IMAGE")},
                     [](NodeContext&, const Inputs& in) {
                       const double mask = in.get<double>("mask");
                       const double a = mask < 1 ? in.get<Picture>("image1").level : 0;
                       const double b = mask > 0 ? in.get<Picture>("image2").level : 0;
                       return NodeResult{picture(a * (1 - mask) + b * mask)};
                     });
  def.check_lazy_status = [](NodeContext& context, const Inputs& in) {
    ++context.service<Counters>().lazy_questions;
    const double mask = in.get<double>("mask");
    std::vector<std::string> needed;
    if (mask < 1 && !in.has("image1")) needed.push_back("image1");
    if (mask > 0 && !in.has("image2")) needed.push_back("image2");
    return needed;
  };
  return def;
}

NodeDef lazy_wrong() {
  NodeDef def = node("TestLazyWrong", {image("image").as_lazy(), InputDef::text("ask")}, {out("IMAGE")},
                     [](NodeContext&, const Inputs& in) { return NodeResult{in.value("image")}; });
  def.check_lazy_status = [](NodeContext&, const Inputs& in) { return std::vector<std::string>{in.text("ask"), "image"}; };
  return def;
}

NodeDef make_list() {
  std::vector<InputDef> inputs = {any("value1")};
  for (int i = 2; i <= 4; ++i) inputs.push_back(any("value" + std::to_string(i)).as_optional());
  return node("TestMakeListNode", std::move(inputs), {{"", "*", true, ""}}, [](NodeContext&, const Inputs& in) {
    std::vector<Value> all;
    for (const auto& [name, values] : in.entries()) all.push_back(values.front());
    return NodeResult{Value::list(std::move(all))};
  });
}

NodeDef count_list() {
  NodeDef def =
      node("TestCountList", {any("list"), InputDef::integer("extra", 0, 0, 9).as_optional()}, {out("INT")}, [](NodeContext&, const Inputs& in) {
        return NodeResult{Value::integer(static_cast<int64_t>(in.list("list").size() * 10 + in.list("extra").size()))};
      });
  def.input_is_list = true;
  return def;
}

NodeDef show_any() {
  NodeDef def = node("PreviewAny", {any("source")}, {}, [](NodeContext&, const Inputs& in) {
    Json ui = {{"text", Json::array({in.value("source").describe()})}};
    return NodeResult::with_ui(std::move(ui));
  });
  def.output_node = true;
  return def;
}

NodeDef blocker() {
  return node("TestExecutionBlocker", {any("input"), InputDef::boolean("block"), InputDef::boolean("verbose")}, {out("*")},
              [](NodeContext&, const Inputs& in) {
                if (!in.boolean("block")) return NodeResult{in.value("input")};
                return NodeResult::block(in.boolean("verbose") ? Value::blocker("Blocked Execution") : Value::blocker());
              });
}

NodeDef conditions() {
  return node("TestIntConditions",
              {InputDef::integer("a", 0, -99, 99), InputDef::integer("b", 0, -99, 99), InputDef::choice("operation", {"==", "<"})}, {out("BOOLEAN")},
              [](NodeContext&, const Inputs& in) {
                const bool equal = in.text("operation") == "==";
                return NodeResult{Value::boolean(equal ? in.integer("a") == in.integer("b") : in.integer("a") < in.integer("b"))};
              });
}

NodeDef fail() {
  return node(
      "RecFail",
      {image("image"), InputDef::choice("kind", {"runtime", "value", "oom", "cancel"}), InputDef::text("text"), InputDef::number("number", 0, 0, 9)},
      {out("IMAGE")}, [](NodeContext& context, const Inputs& in) -> NodeResult {
        if (in.text("kind") == "oom") throw std::bad_alloc();
        if (in.text("kind") == "value") throw Error(ErrorCode::invalid, in.text("text"));
        if (in.text("kind") == "cancel") {
          context.progress(1, 3);
          context.cancel().cancel();
          context.progress(2, 3);
        }
        throw std::runtime_error(in.text("text"));
      });
}

NodeDef validation_node(std::string name, std::vector<InputDef> inputs, NodeValidator validator) {
  NodeDef def = node(std::move(name), std::move(inputs), {out("IMAGE")}, [](NodeContext&, const Inputs&) { return NodeResult{picture(1)}; });
  def.validator = std::move(validator);
  return def;
}

std::vector<NodeDef> validation_nodes() {
  std::vector<NodeDef> defs;
  const auto union_inputs = [] {
    return std::vector<InputDef>{InputDef::socket("input1", "IMAGE,FLOAT"), InputDef::socket("input2", "IMAGE,FLOAT")};
  };
  NodeValidator literal;
  literal.inputs = {"input1", "input2"};
  literal.check = [](const Environment&, const Inputs& in, const auto&) -> NodeValidator::Answer {
    for (const char* name : {"input1", "input2"}) {
      if (in.has(name) && !in.json(name).is_number_float()) return "Invalid type of " + std::string(name);
    }
    return std::nullopt;
  };
  defs.push_back(validation_node("TestCustomValidation1", union_inputs(), literal));
  NodeValidator types;
  types.takes_input_types = true;
  types.inputs = {"input1", "input2"};
  types.check = [](const Environment&, const Inputs&, const auto& received) -> NodeValidator::Answer {
    for (const auto& [name, type] : received) {
      if (type != "IMAGE" && type != "FLOAT") return std::string("Invalid type of ").append(name).append(": ").append(type);
    }
    return std::nullopt;
  };
  defs.push_back(validation_node("TestCustomValidation2", {any("input1"), InputDef::socket("input2", "MODEL")}, types));
  NodeValidator plain;
  plain.inputs = {"input1"};
  plain.check = [](const Environment&, const Inputs& in, const auto&) -> NodeValidator::Answer {
    if (in.contains("input1") && in.has("input1")) return "a linked input came with a value";
    return std::nullopt;
  };
  defs.push_back(validation_node("TestCustomValidation4", {InputDef::number("input1", 0, 0, 9), InputDef::number("input2", 0, 0, 9)}, plain));
  NodeValidator all;
  all.takes_all = true;
  all.check = [](const Environment&, const Inputs& in, const auto&) -> NodeValidator::Answer {
    for (const auto& [name, values] : in.entries()) {
      if (values.front().is_json() && values.front().as_number() == 7.0) return "7s are not allowed. I've never liked 7s.";
    }
    return std::nullopt;
  };
  defs.push_back(validation_node("TestCustomValidation5", {InputDef::number("input1", 0, 0, 1), InputDef::number("input2", 0, 0, 1)}, all));
  return defs;
}

NodeDef own_id() {
  return node("TestOwnId", {any("value"), InputDef::hidden("unique_id", "UNIQUE_ID")}, {out("STRING")},
              [](NodeContext& context, const Inputs&) { return NodeResult{Value::text(context.node_id())}; });
}

NodeDef remembers() {
  NodeDef def = node("TestRemembers", {InputDef::integer("salt", 0, 0, 999)}, {}, [](NodeContext& context, const Inputs&) {
    const auto count = context.state<int>();
    Json ui = {{"images", Json::array({++*count})}};
    return NodeResult::with_ui(std::move(ui));
  });
  def.output_node = true;
  return def;
}

NodeDef output_with_socket() {
  NodeDef def = node("TestOutputNodeWithSocketOutput", {image("image"), InputDef::number("value", 1, 0, 9)}, {out("IMAGE")},
                     [](NodeContext&, const Inputs& in) { return NodeResult{picture(in.get<Picture>("image").level * in.number("value"))}; });
  def.output_node = true;
  return def;
}

NodeDef meeting() {
  NodeDef def = node("TestMeeting",
                     {any("value"), InputDef::integer("parties", 1, 1, 9), InputDef::boolean("fail", false).as_optional(), any("salt").as_optional()},
                     {out("*")}, [](NodeContext& context, const Inputs& in) {
                       context.progress(1, 2);
                       context.service<MeetingPlace>().meet(static_cast<size_t>(in.integer("parties")), context.cancel());
                       if (in.boolean_or("fail", false)) throw Error(ErrorCode::invalid, "async trouble");
                       return NodeResult{in.value("value")};
                     });
  def.async = true;
  return def;
}

// An output node that expands into async nodes and one that averages what they give.
NodeDef parallel() {
  NodeDef def = node("TestParallelMeeting", {image("image1"), image("image2")}, {out("IMAGE")}, [](NodeContext& context, const Inputs& in) {
    GraphBuilder graph(context);
    GraphBuilder::Node& first = graph.node("TestMeeting").set("value", in.value("image1")).set("parties", Value::integer(2));
    GraphBuilder::Node& second = graph.node("TestMeeting").set("value", in.value("image2")).set("parties", Value::integer(2));
    GraphBuilder::Node& mean = graph.node("TestVariadicAverage").set("input1", first.out(0)).set("input2", second.out(0));
    return NodeResult::expand(graph.finish(), {mean.out(0)});
  });
  def.output_node = true;
  return def;
}

}  // namespace

std::vector<NodeDef> control_testing_nodes() {
  std::vector<NodeDef> defs = validation_nodes();
  for (NodeDef& def : std::vector<NodeDef>{lazy_mix(), lazy_wrong(), make_list(), count_list(), show_any(), blocker(), conditions(), fail(), own_id(),
                                           remembers(), output_with_socket(), meeting(), parallel()}) {
    defs.push_back(std::move(def));
  }
  return defs;
}

}  // namespace veneer::graph
