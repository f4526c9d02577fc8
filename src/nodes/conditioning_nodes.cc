#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "sampling/conditioning.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;
using sampling::Conditioning;

NodeResult result(Conditioning conditioning) { return {Value::of("CONDITIONING", std::move(conditioning))}; }
InputDef conditioning_input(const char* name = "conditioning") { return InputDef::socket(name, "CONDITIONING"); }
InputDef strength_input() { return InputDef::number("strength", 1.0, 0.0, 10.0, 0.01); }
const Conditioning& conditioning_of(const Inputs& in, const char* name = "conditioning") { return in.get<Conditioning>(name); }

NodeDef combine() {
  return make_node({"ConditioningCombine", "Conditioning (Combine)", "conditioning"},
                   {conditioning_input("conditioning_1"), conditioning_input("conditioning_2")}, {"CONDITIONING"},
                   [](NodeContext&, const Inputs& in) {
                     return result(sampling::combine(conditioning_of(in, "conditioning_1"), conditioning_of(in, "conditioning_2")));
                   });
}

NodeDef average() {
  return make_node({"ConditioningAverage", "ConditioningAverage", "conditioning"},
                   {conditioning_input("conditioning_to"), conditioning_input("conditioning_from"),
                    InputDef::number("conditioning_to_strength", 1.0, 0.0, 1.0, 0.01)},
                   {"CONDITIONING"}, [](NodeContext&, const Inputs& in) {
                     return result(sampling::average(conditioning_of(in, "conditioning_to"), conditioning_of(in, "conditioning_from"),
                                                     in.number("conditioning_to_strength")));
                   });
}

NodeDef concat() {
  return make_node({"ConditioningConcat", "Conditioning (Concat)", "conditioning"},
                   {conditioning_input("conditioning_to"), conditioning_input("conditioning_from")}, {"CONDITIONING"},
                   [](NodeContext&, const Inputs& in) {
                     return result(sampling::concat(conditioning_of(in, "conditioning_to"), conditioning_of(in, "conditioning_from")));
                   });
}

NodeDef set_area() {
  return make_node({"ConditioningSetArea", "Conditioning (Set Area)", "conditioning"},
                   {conditioning_input(), pixels_input("width", 64, 64, 8), pixels_input("height", 64, 64, 8), pixels_input("x", 0, 0, 8),
                    pixels_input("y", 0, 0, 8), strength_input()},
                   {"CONDITIONING"}, [](NodeContext&, const Inputs& in) {
                     const sampling::Box area{.y = in.integer("y") / kPixelsPerLatent,
                                              .x = in.integer("x") / kPixelsPerLatent,
                                              .height = in.integer("height") / kPixelsPerLatent,
                                              .width = in.integer("width") / kPixelsPerLatent};
                     return result(sampling::set_area(conditioning_of(in), area, in.number("strength")));
                   });
}

NodeDef set_area_percentage() {
  // Defaults that are whole numbers in the reference's interface stay whole numbers on the wire.
  const auto fraction = [](const char* name, graph::Json default_value) {
    InputDef input = InputDef::number(name, 0, 0, 1.0, 0.01).with_default(std::move(default_value));
    input.min = 0;
    return input;
  };
  return make_node({"ConditioningSetAreaPercentage", "Conditioning (Set Area with Percentage)", "conditioning"},
                   {conditioning_input(), fraction("width", 1.0), fraction("height", 1.0), fraction("x", 0), fraction("y", 0), strength_input()},
                   {"CONDITIONING"}, [](NodeContext&, const Inputs& in) {
                     const sampling::FractionalBox area{
                         .y = in.number("y"), .x = in.number("x"), .height = in.number("height"), .width = in.number("width")};
                     return result(sampling::set_area_percentage(conditioning_of(in), area, in.number("strength")));
                   });
}

NodeDef set_area_strength() {
  return make_node({"ConditioningSetAreaStrength", "ConditioningSetAreaStrength", "conditioning"}, {conditioning_input(), strength_input()},
                   {"CONDITIONING"},
                   [](NodeContext&, const Inputs& in) { return result(sampling::set_area_strength(conditioning_of(in), in.number("strength"))); });
}

NodeDef set_mask() {
  return make_node(
      {"ConditioningSetMask", "Conditioning (Set Mask)", "conditioning"},
      {conditioning_input(), InputDef::socket("mask", "MASK"), strength_input(), InputDef::choice("set_cond_area", {"default", "mask bounds"})},
      {"CONDITIONING"}, [](NodeContext&, const Inputs& in) {
        return result(sampling::set_mask(conditioning_of(in), in.get<Tensor>("mask"), in.number("strength"), in.text("set_cond_area") != "default"));
      });
}

NodeDef set_timestep_range() {
  return make_node(
      {"ConditioningSetTimestepRange", "ConditioningSetTimestepRange", "advanced/conditioning"},
      {conditioning_input(), InputDef::number("start", 0.0, 0.0, 1.0, 0.001), InputDef::number("end", 1.0, 0.0, 1.0, 0.001)}, {"CONDITIONING"},
      [](NodeContext&, const Inputs& in) { return result(sampling::set_timestep_range(conditioning_of(in), in.number("start"), in.number("end"))); });
}

NodeDef zero_out() {
  return make_node({"ConditioningZeroOut", "ConditioningZeroOut", "advanced/conditioning"}, {conditioning_input()}, {"CONDITIONING"},
                   [](NodeContext&, const Inputs& in) { return result(sampling::zero_out(conditioning_of(in))); });
}

}  // namespace

std::vector<NodeDef> conditioning_nodes() {
  return {combine(), average(), concat(), set_area(), set_area_percentage(), set_area_strength(), set_mask(), set_timestep_range(), zero_out()};
}

}  // namespace veneer::nodes
