#include "nodes/image_stitch.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "sampling/image_ops.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;

NodeResult image_result(Tensor image) { return {Value::of("IMAGE", std::move(image))}; }

InputDef image_input(const char* name = "image") { return InputDef::socket(name, "IMAGE"); }
InputDef upscale_method() { return InputDef::choice("upscale_method", {"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}); }
sampling::ResampleMethod method_of(const Inputs& in) { return sampling::resample_method_from_string(in.text("upscale_method")); }

NodeDef image_scale() {
  return make_node({"ImageScale", "Upscale Image", "image/upscaling"},
                   {image_input(), upscale_method(), pixels_input("width", 512, 0, 1), pixels_input("height", 512, 0, 1),
                    InputDef::choice("crop", {"disabled", "center"})},
                   {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                     return image_result(sampling::scale_image(in.get<Tensor>("image"), in.integer("width"), in.integer("height"), method_of(in),
                                                               sampling::crop_from_string(in.text("crop"))));
                   });
}

NodeDef image_scale_by() {
  return make_node({"ImageScaleBy", "Upscale Image By", "image/upscaling"},
                   {image_input(), upscale_method(), InputDef::number("scale_by", 1.0, 0.01, 8.0, 0.01)}, {"IMAGE"},
                   [](NodeContext&, const Inputs& in) {
                     return image_result(sampling::scale_image_by(in.get<Tensor>("image"), in.number("scale_by"), method_of(in)));
                   });
}

NodeDef image_scale_to_total_pixels() {
  NodeDef node =
      make_node({"ImageScaleToTotalPixels", "", "image/upscaling"},
                {image_input(), upscale_method().as_combo().with("multiselect", false), InputDef::number("megapixels", 1.0, 0.01, 16.0, 0.01)},
                {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                  return image_result(sampling::scale_image_to_total_pixels(in.get<Tensor>("image"), in.number("megapixels"), method_of(in)));
                });
  node.module = "comfy_extras.nodes_post_processing";
  node.newer_schema = true;
  return node;
}

NodeDef image_invert() {
  return make_node({"ImageInvert", "Invert Image", "image"}, {image_input()}, {"IMAGE"},
                   [](NodeContext&, const Inputs& in) { return image_result(sampling::invert_image(in.get<Tensor>("image"))); });
}

NodeDef empty_image() {
  return make_node({"EmptyImage", "EmptyImage", "image"},
                   {pixels_input("width", 512, 1, 1), pixels_input("height", 512, 1, 1), InputDef::integer("batch_size", 1, 1, 4096),
                    InputDef::integer("color", 0, 0, 0xFFFFFF, 1).with("display", "color")},
                   {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                     return image_result(sampling::solid_image(in.integer("width"), in.integer("height"), in.integer("batch_size"),
                                                               static_cast<uint32_t>(in.integer("color"))));
                   });
}

NodeDef image_batch() {
  return make_node(
      {"ImageBatch", "Batch Images", "image"}, {image_input("image1"), image_input("image2")}, {"IMAGE"},
      [](NodeContext&, const Inputs& in) { return image_result(sampling::batch_images(in.get<Tensor>("image1"), in.get<Tensor>("image2"))); });
}

NodeDef image_crop() {
  NodeDef node = make_node(
      {"ImageCrop", "Image Crop", "image/transform"},
      {image_input(), pixels_input("width", 512, 1, 1), pixels_input("height", 512, 1, 1), pixels_input("x", 0, 0, 1), pixels_input("y", 0, 0, 1)},
      {"IMAGE"}, [](NodeContext&, const Inputs& in) {
        const sampling::Box box{.y = in.integer("y"), .x = in.integer("x"), .height = in.integer("height"), .width = in.integer("width")};
        return image_result(sampling::crop_image(in.get<Tensor>("image"), box));
      });
  node.module = "comfy_extras.nodes_images";
  return node;
}

NodeDef image_pad_for_outpaint() {
  return make_node({"ImagePadForOutpaint", "Pad Image for Outpainting", "image"},
                   {image_input(), pixels_input("left", 0, 0, 8), pixels_input("top", 0, 0, 8), pixels_input("right", 0, 0, 8),
                    pixels_input("bottom", 0, 0, 8), pixels_input("feathering", 40, 0, 1)},
                   {"IMAGE", "MASK"}, [](NodeContext&, const Inputs& in) {
                     sampling::PaddedImage out = sampling::pad_for_outpaint(
                         in.get<Tensor>("image"), {in.integer("left"), in.integer("top"), in.integer("right"), in.integer("bottom")},
                         in.integer("feathering"));
                     // The socket's meaning is [N, H, W]; one plane serves every picture of the batch.
                     return NodeResult{Value::of("IMAGE", std::move(out.image)), Value::of("MASK", std::move(out.mask))};
                   });
}

NodeDef image_composite_masked() {
  NodeDef node = make_node({"ImageCompositeMasked", "ImageCompositeMasked", "image"},
                           {image_input("destination"), image_input("source"), pixels_input("x", 0, 0, 1), pixels_input("y", 0, 0, 1),
                            InputDef::boolean("resize_source", false), InputDef::socket("mask", "MASK").as_optional()},
                           {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                             const Tensor mask = in.has("mask") ? in.get<Tensor>("mask") : Tensor();
                             return image_result(sampling::composite_images(in.get<Tensor>("destination"), in.get<Tensor>("source"), mask,
                                                                            {in.integer("x"), in.integer("y"), in.boolean("resize_source")}));
                           });
  node.module = "comfy_extras.nodes_mask";
  return node;
}

NodeDef image_stitch() {
  InputDef direction = InputDef::choice("direction", {"right", "down", "left", "up"}).with_default("right");
  InputDef color = InputDef::choice("spacing_color", {"white", "black", "red", "green", "blue"}).with_default("white");
  NodeDef node = make_node({"ImageStitch", "Image Stitch", "image/transform"},
                           {image_input("image1"), std::move(direction), InputDef::boolean("match_image_size", true),
                            InputDef::integer("spacing_width", 0, 0, 1024, 2), std::move(color), image_input("image2").as_optional()},
                           {"IMAGE"}, [](NodeContext&, const Inputs& in) {
                             if (!in.has("image2")) return NodeResult{in.value("image1")};
                             return image_result(stitch_images(in.get<Tensor>("image1"), in.get<Tensor>("image2"),
                                                               {.direction = in.text("direction"),
                                                                .match_size = in.boolean("match_image_size"),
                                                                .spacing = in.integer("spacing_width"),
                                                                .spacing_color = in.text("spacing_color")}));
                           });
  node.module = "comfy_extras.nodes_images";
  node.description =
      "Stitches image2 to image1 in the specified direction.\nIf image2 is not provided, returns image1 unchanged.\n"
      "Optional spacing can be added between images.";
  return node;
}

}  // namespace

std::vector<NodeDef> image_nodes() {
  return {image_scale(), image_scale_by(), image_scale_to_total_pixels(), image_invert(),           empty_image(),
          image_batch(), image_crop(),     image_pad_for_outpaint(),      image_composite_masked(), image_stitch()};
}

}  // namespace veneer::nodes
