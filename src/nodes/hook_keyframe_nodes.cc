// Nodes that say when a hook is how strong.
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;
using variant::HookGroup;
using variant::HookKeyframe;
using variant::HookKeyframes;

InputDef percent_input(const char* name, double default_value) { return InputDef::number(name, default_value, 0.0, 1.0, 0.001); }
InputDef previous_input() { return InputDef::socket("prev_hook_kf", "HOOK_KEYFRAMES").as_optional(); }

NodeDef experimental(NodeDef node) {
  node.experimental = true;
  node.module = "comfy_extras.nodes_hooks";
  return node;
}

NodeDef keyframes_node(NodeNames names, std::vector<InputDef> inputs, std::function<NodeResult(NodeContext&, const Inputs&)> run) {
  names.category = "advanced/hooks/scheduling";
  inputs.push_back(previous_input());
  NodeDef node = make_node(std::move(names), std::move(inputs), {"HOOK_KEYFRAMES"}, std::move(run));
  node.outputs[0].name = "HOOK_KF";
  return experimental(std::move(node));
}

NodeResult appended(const Inputs& in, std::span<const HookKeyframe> more) {
  const auto before = in.share_or_null<HookKeyframes>("prev_hook_kf");
  return {Value::of("HOOK_KEYFRAMES", (before ? *before : HookKeyframes()).with(more))};
}

// "print_keyframes" shows them as the node's progress text.
void show(NodeContext& node, const Inputs& in, std::span<const HookKeyframe> keyframes) {
  if (!in.boolean("print_keyframes")) return;
  std::string text;
  for (const HookKeyframe& keyframe : keyframes) {
    text += (text.empty() ? "" : "\n") + std::string("start ") + std::to_string(keyframe.start_percent) + ": strength " +
            std::to_string(keyframe.strength);
  }
  node.progress_text(text);
}

NodeResult spread(NodeContext& node, const Inputs& in, std::span<const double> strengths) {
  const std::vector<HookKeyframe> keyframes = variant::spread_keyframes(strengths, in.number("start_percent"), in.number("end_percent"));
  show(node, in, keyframes);
  return appended(in, keyframes);
}

NodeDef create_keyframe() {
  return keyframes_node({"CreateHookKeyframe", "Create Hook Keyframe", {}},
                        {InputDef::number("strength_mult", 1.0, -20.0, 20.0, 0.01), percent_input("start_percent", 0.0)},
                        [](NodeContext&, const Inputs& in) {
                          const HookKeyframe keyframe{in.number("strength_mult"), in.number("start_percent"), 1};
                          return appended(in, {&keyframe, 1});
                        });
}

NodeDef create_interpolated() {
  return keyframes_node(
      {"CreateHookKeyframesInterpolated", "Create Hook Keyframes Interp.", {}},
      {InputDef::number("strength_start", 1.0, 0.0, 10.0, 0.001), InputDef::number("strength_end", 1.0, 0.0, 10.0, 0.001),
       InputDef::choice("interpolation", {"linear", "ease_in", "ease_out", "ease_in_out"}), percent_input("start_percent", 0.0),
       percent_input("end_percent", 1.0), InputDef::integer("keyframes_count", 5, 2, 100, 1), InputDef::boolean("print_keyframes", false)},
      [](NodeContext& node, const Inputs& in) {
        const auto strengths =
            variant::interpolated_values(in.number("strength_start"), in.number("strength_end"), static_cast<int>(in.integer("keyframes_count")),
                                         variant::keyframe_interpolation_from_string(in.text("interpolation")));
        return spread(node, in, strengths);
      });
}

// One number or a list of them: FLOATS have no form of their own on the wire.
std::vector<double> floats_of(const Inputs& in, const char* name) {
  const Value& value = in.value(name);
  if (value.is_list()) {
    std::vector<double> out;
    for (const Value& element : value.as_list()) out.push_back(with_input(name, [&] { return element.as_number(); }));
    return out;
  }
  if (!value.is_json() || !value.as_json().is_array()) return {in.number(name)};
  std::vector<double> out;
  for (const graph::Json& element : value.as_json()) out.push_back(with_input(name, [&] { return Value::json(element).as_number(); }));
  return out;
}

NodeDef create_from_floats() {
  InputDef floats = InputDef::socket("floats_strength", "FLOATS").with_default(-1).as_forced_input();
  floats.min = -1;
  floats.step = 0.001;
  return keyframes_node(
      {"CreateHookKeyframesFromFloats", "Create Hook Keyframes From Floats", {}},
      {std::move(floats), percent_input("start_percent", 0.0), percent_input("end_percent", 1.0), InputDef::boolean("print_keyframes", false)},
      [](NodeContext& node, const Inputs& in) { return spread(node, in, floats_of(in, "floats_strength")); });
}

NodeDef set_keyframes() {
  return experimental(make_node({"SetHookKeyframes", "Set Hook Keyframes", "advanced/hooks/scheduling"},
                                {InputDef::socket("hooks", "HOOKS"), InputDef::socket("hook_kf", "HOOK_KEYFRAMES").as_optional()}, {"HOOKS"},
                                [](NodeContext&, const Inputs& in) {
                                  variant::HookGroupPtr hooks = in.share_or_null<HookGroup>("hooks");
                                  if (const auto keyframes = in.share_or_null<HookKeyframes>("hook_kf")) {
                                    hooks = variant::with_keyframes(hooks, *keyframes);
                                  }
                                  return NodeResult{Value::object("HOOKS", hooks)};
                                }));
}

NodeDef timesteps_range() {
  NodeDef node = make_node({"ConditioningTimestepsRange", "Timesteps Range", "advanced/hooks"},
                           {percent_input("start_percent", 0.0), percent_input("end_percent", 1.0)},
                           {"TIMESTEPS_RANGE", "TIMESTEPS_RANGE", "TIMESTEPS_RANGE"}, [](NodeContext&, const Inputs& in) {
                             const TimestepsRange range{in.number("start_percent"), in.number("end_percent")};
                             return NodeResult{Value::of("TIMESTEPS_RANGE", range), Value::of("TIMESTEPS_RANGE", TimestepsRange{0, range.start}),
                                               Value::of("TIMESTEPS_RANGE", TimestepsRange{range.end, 1})};
                           });
  node.outputs[1].name = "BEFORE_RANGE";
  node.outputs[2].name = "AFTER_RANGE";
  return experimental(std::move(node));
}

}  // namespace

std::vector<NodeDef> hook_keyframe_nodes() {
  return {create_keyframe(), create_interpolated(), create_from_floats(), set_keyframes(), timesteps_range()};
}

}  // namespace veneer::nodes
