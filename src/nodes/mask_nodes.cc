#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "sampling/mask_ops.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

NodeResult mask_result(Tensor mask) { return {Value::of("MASK", std::move(mask))}; }
InputDef mask_input(const char* name = "mask") { return InputDef::socket(name, "MASK"); }

using Run = std::function<NodeResult(NodeContext&, const Inputs&)>;

NodeDef mask_node(NodeNames names, std::vector<InputDef> inputs, const char* output, Run run) {
  NodeDef node = make_node(std::move(names), std::move(inputs), {output}, std::move(run));
  node.module = "comfy_extras.nodes_mask";
  return node;
}

NodeDef invert_mask() {
  return mask_node({"InvertMask", "InvertMask", "mask"}, {mask_input()}, "MASK",
                   [](NodeContext&, const Inputs& in) { return mask_result(sampling::invert_mask(in.get<Tensor>("mask"))); });
}

NodeDef solid_mask() {
  return mask_node({"SolidMask", "SolidMask", "mask"},
                   {InputDef::number("value", 1.0, 0.0, 1.0, 0.01), pixels_input("width", 512, 1, 1), pixels_input("height", 512, 1, 1)}, "MASK",
                   [](NodeContext&, const Inputs& in) {
                     return mask_result(sampling::solid_mask(static_cast<float>(in.number("value")), in.integer("width"), in.integer("height")));
                   });
}

NodeDef mask_to_image() {
  return mask_node({"MaskToImage", "Convert Mask to Image", "mask"}, {mask_input()}, "IMAGE",
                   [](NodeContext&, const Inputs& in) { return NodeResult{Value::of("IMAGE", sampling::mask_to_image(in.get<Tensor>("mask")))}; });
}

NodeDef image_to_mask() {
  return mask_node({"ImageToMask", "Convert Image to Mask", "mask"},
                   {InputDef::socket("image", "IMAGE"), InputDef::choice("channel", {"red", "green", "blue", "alpha"})}, "MASK",
                   [](NodeContext&, const Inputs& in) {
                     const std::string channel = in.text("channel");
                     const int64_t index = channel == "red" ? 0 : channel == "green" ? 1 : channel == "blue" ? 2 : 3;
                     return mask_result(sampling::image_to_mask(in.get<Tensor>("image"), index));
                   });
}

NodeDef feather_mask() {
  return mask_node(
      {"FeatherMask", "FeatherMask", "mask"},
      {mask_input(), pixels_input("left", 0, 0, 1), pixels_input("top", 0, 0, 1), pixels_input("right", 0, 0, 1), pixels_input("bottom", 0, 0, 1)},
      "MASK", [](NodeContext&, const Inputs& in) {
        return mask_result(
            sampling::feather_mask(in.get<Tensor>("mask"), {in.integer("left"), in.integer("top"), in.integer("right"), in.integer("bottom")}));
      });
}

NodeDef grow_mask() {
  return mask_node({"GrowMask", "GrowMask", "mask"},
                   {mask_input(), InputDef::integer("expand", 0, -kMaxResolution, kMaxResolution, 1), InputDef::boolean("tapered_corners", true)},
                   "MASK", [](NodeContext&, const Inputs& in) {
                     return mask_result(sampling::grow_mask(in.get<Tensor>("mask"), in.integer("expand"), in.boolean("tapered_corners")));
                   });
}

NodeDef crop_mask() {
  return mask_node(
      {"CropMask", "CropMask", "mask"},
      {mask_input(), pixels_input("x", 0, 0, 1), pixels_input("y", 0, 0, 1), pixels_input("width", 512, 1, 1), pixels_input("height", 512, 1, 1)},
      "MASK", [](NodeContext&, const Inputs& in) {
        return mask_result(sampling::crop_mask(
            in.get<Tensor>("mask"), {.y = in.integer("y"), .x = in.integer("x"), .height = in.integer("height"), .width = in.integer("width")}));
      });
}

NodeDef mask_composite() {
  return mask_node({"MaskComposite", "MaskComposite", "mask"},
                   {mask_input("destination"), mask_input("source"), pixels_input("x", 0, 0, 1), pixels_input("y", 0, 0, 1),
                    InputDef::choice("operation", {"multiply", "add", "subtract", "and", "or", "xor"})},
                   "MASK", [](NodeContext&, const Inputs& in) {
                     return mask_result(sampling::combine_masks(in.get<Tensor>("destination"), in.get<Tensor>("source"), in.integer("x"),
                                                                in.integer("y"), sampling::mask_operation_from_string(in.text("operation"))));
                   });
}

}  // namespace

std::vector<NodeDef> mask_nodes() {
  return {invert_mask(), solid_mask(), mask_to_image(), image_to_mask(), feather_mask(), grow_mask(), crop_mask(), mask_composite()};
}

}  // namespace veneer::nodes
