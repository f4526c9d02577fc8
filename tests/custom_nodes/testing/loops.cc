// Loops by recursive expansion: the closing node copies all between the opening node and itself until the condition is false.
#include <map>
#include <set>

#include "nodes.h"

namespace testing_pack {
namespace {

constexpr int kValues = 5;

std::string initial(int i) { return "initial_value" + std::to_string(i); }

std::vector<vp::Input> initial_values(int first, bool raw) {
  std::vector<vp::Input> inputs;
  for (int i = first; i < kValues; ++i) {
    vp::Input input = vp::socket(initial(i), "*").optional();
    inputs.push_back(raw ? std::move(input).raw_link() : std::move(input));
  }
  return inputs;
}

vp::Node with_value_outputs(vp::Node node, int first) {
  for (int i = first; i < kValues; ++i) node = std::move(node).output("*", "value" + std::to_string(i));
  return node;
}

vp::Node node(const std::string& name, std::string_view shown) { return vp::Node(name).display_name(shown).category("Testing/Flow"); }

// The id in a link that came raw, ["id", slot].
vp::Link link_in(const vp::Value& raw) {
  const std::string_view json = raw.json();
  const size_t end = json.rfind("\", ");
  if (json.size() < 5 || end == std::string_view::npos) throw std::runtime_error("the input is no link");
  std::string id;
  for (size_t i = 2; i < end; ++i) {
    if (json[i] == '\\' && i + 1 < end) ++i;
    id += json[i];
  }
  return {id, static_cast<int32_t>(std::stol(std::string(json.substr(end + 3))))};
}

// The nodes between both, these included, each with what it is.
std::map<std::string, vp::ViewedNode> loop_body(const vp::Call& call, const std::string& open, const std::string& close) {
  std::map<std::string, vp::ViewedNode> seen;
  std::map<std::string, std::set<std::string>> users;
  std::vector<std::string> stack = {close};
  seen.emplace(close, call.view(close));
  while (!stack.empty()) {
    const std::string id = std::move(stack.back());
    stack.pop_back();
    for (const vp::ViewedNode::Input& input : seen.at(id).inputs) {
      if (!input.link) continue;
      users[input.link->node_id].insert(id);
      if (seen.contains(input.link->node_id)) continue;
      seen.emplace(input.link->node_id, call.view(input.link->node_id));
      stack.push_back(input.link->node_id);
    }
  }
  std::map<std::string, vp::ViewedNode> body;
  stack = {open, close};
  while (!stack.empty()) {
    const std::string id = std::move(stack.back());
    stack.pop_back();
    if (!body.emplace(id, seen.contains(id) ? seen.at(id) : call.view(id)).second) continue;
    for (const std::string& user : users[id]) stack.push_back(user);
  }
  return body;
}

void close_while(vp::Call& call) {
  if (!call.input("condition").boolean()) {
    for (int i = 0; i < kValues; ++i) call.output(call.input(initial(i)));
    return;
  }
  const std::string own = call.node_id();
  const std::string open = link_in(call.input("flow_control")).node_id;
  const std::map<std::string, vp::ViewedNode> body = loop_body(call, open, own);
  std::map<std::string, vp::GraphNode> copies;
  for (const auto& [id, seen] : body) {
    // A name that does not grow with every round.
    copies.emplace(id, call.expand(seen.class_type, id == own ? "Recurse" : id).display(id));
  }
  for (const auto& [id, seen] : body) {
    vp::GraphNode& copy = copies.at(id);
    for (const vp::ViewedNode::Input& input : seen.inputs) {
      if (!input.link) {
        copy.set(input.name, input.constant);
      } else if (body.contains(input.link->node_id)) {
        copy.set(input.name, copies.at(input.link->node_id).out(input.link->slot));
      } else {
        copy.set(input.name, *input.link);
      }
    }
  }
  for (int i = 0; i < kValues; ++i) copies.at(open).set(initial(i), call.input(initial(i)));
  for (int i = 0; i < kValues; ++i) call.output(copies.at(own).out(i));
}

void open_for(vp::Call& call) {
  const vp::Value remaining = call.has(initial(0)) ? call.input(initial(0)) : call.input("remaining");
  vp::GraphNode loop = call.expand("TestWhileLoopOpen").set("condition", remaining).set(initial(0), remaining);
  call.output("stub");
  call.output(remaining);
  for (int i = 1; i < kValues; ++i) {
    loop.set(initial(i), call.input(initial(i)));
    call.output(call.input(initial(i)));
  }
}

void close_for(vp::Call& call) {
  const vp::Link open = link_in(call.input("flow_control"));
  const vp::GraphNode rest =
      call.expand("TestIntMathOperation").set("operation", call.make("subtract")).set("a", vp::Link{open.node_id, 1}).set("b", call.make(1));
  const vp::GraphNode more = call.expand("TestToBoolNode").set("value", rest.out(0));
  vp::GraphNode close = call.expand("TestWhileLoopClose").set("flow_control", open).set("condition", more.out(0)).set(initial(0), rest.out(0));
  for (int i = 1; i < kValues; ++i) {
    if (!call.has(initial(i))) {
      close.set(initial(i), vp::Value());
    } else if (call.input(initial(i)).kind() == VENEER_KIND_JSON) {
      close.set(initial(i), link_in(call.input(initial(i))));
    } else {
      close.set(initial(i), call.input(initial(i)));
    }
    call.output(close.out(i));
  }
}

}  // namespace

void add_loops(vp::Pack& pack) {
  pack.add(with_value_outputs(node("TestWhileLoopOpen", "While Loop Open")
                                  .input(vp::boolean("condition", true))
                                  .inputs(initial_values(0, false))
                                  .output("FLOW_CONTROL", "FLOW_CONTROL"),
                              0)
               .run([](vp::Call& call) {
                 call.output("stub");
                 for (int i = 0; i < kValues; ++i) call.output(call.input(initial(i)));
               }));
  pack.add(with_value_outputs(node("TestWhileLoopClose", "While Loop Close")
                                  .inputs({vp::socket("flow_control", "FLOW_CONTROL").raw_link(), vp::Input("condition", "BOOLEAN").force_input()})
                                  .inputs(initial_values(0, false))
                                  .inputs({vp::Input("dynprompt", "DYNPROMPT").hidden(), vp::unique_id()}),
                              0)
               .run(close_while));
  pack.add(with_value_outputs(node("TestForLoopOpen", "For Loop Open")
                                  .input(vp::integer("remaining", 1).range(0, 100000).step(1))
                                  .inputs(initial_values(1, false))
                                  .input(vp::Input(initial(0), "*").hidden())
                                  .output("FLOW_CONTROL", "flow_control")
                                  .output("INT", "remaining"),
                              1)
               .run(open_for));
  pack.add(
      with_value_outputs(
          node("TestForLoopClose", "For Loop Close").input(vp::socket("flow_control", "FLOW_CONTROL").raw_link()).inputs(initial_values(1, true)), 1)
          .run(close_for));
}

}  // namespace testing_pack
