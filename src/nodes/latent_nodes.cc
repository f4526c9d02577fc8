#include <algorithm>

#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "sampling/composite.h"
#include "sampling/latent_batch.h"
#include "sampling/latent_ops.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;
using sampling::Latent;

NodeResult latent_result(Latent latent) { return {Value::of("LATENT", std::move(latent))}; }

InputDef upscale_method() { return InputDef::choice("upscale_method", {"nearest-exact", "bilinear", "area", "bicubic", "bislerp"}); }

NodeDef empty_latent_image() {
  NodeDef node =
      make_node({"EmptyLatentImage", "Empty Latent Image", "latent"},
                {pixels_input("width", 512, 16, 8), pixels_input("height", 512, 16, 8), InputDef::integer("batch_size", 1, 1, 4096)}, {"LATENT"},
                [](NodeContext&, const Inputs& in) {
                  const Shape shape{in.integer("batch_size"), 4, in.integer("height") / kPixelsPerLatent, in.integer("width") / kPixelsPerLatent};
                  return latent_result({.samples = Tensor::zeros(shape, DType::f32)});
                });
  node.description = "Create a new batch of empty latent images to be denoised via sampling.";
  return node;
}

// The size that LatentUpscale asks for, in elements: an extent of 0 follows the other one's ratio.
std::pair<int64_t, int64_t> upscaled_size(const Tensor& samples, int64_t width, int64_t height) {
  constexpr int64_t kLeast = 64;
  const auto w = static_cast<double>(samples.dim(3));
  const auto h = static_cast<double>(samples.dim(2));
  if (width == 0) {
    height = std::max(kLeast, height);
    width = std::max(kLeast, sampling::round_half_even(w * static_cast<double>(height) / h));
  } else if (height == 0) {
    width = std::max(kLeast, width);
    height = std::max(kLeast, sampling::round_half_even(h * static_cast<double>(width) / w));
  } else {
    width = std::max(kLeast, width);
    height = std::max(kLeast, height);
  }
  return {width / kPixelsPerLatent, height / kPixelsPerLatent};
}

NodeDef latent_upscale() {
  return make_node(
      {"LatentUpscale", "Upscale Latent", "latent"},
      {InputDef::socket("samples", "LATENT"), upscale_method(), pixels_input("width", 512, 0, 8), pixels_input("height", 512, 0, 8),
       InputDef::choice("crop", {"disabled", "center"})},
      {"LATENT"}, [](NodeContext&, const Inputs& in) {
        const Latent& latent = in.get<Latent>("samples");
        if (in.integer("width") == 0 && in.integer("height") == 0) return latent_result(latent);
        const auto [width, height] = upscaled_size(latent.samples, in.integer("width"), in.integer("height"));
        return latent_result(sampling::resize_latent(latent, width, height, sampling::resample_method_from_string(in.text("upscale_method")),
                                                     sampling::crop_from_string(in.text("crop"))));
      });
}

NodeDef latent_upscale_by() {
  return make_node({"LatentUpscaleBy", "Upscale Latent By", "latent"},
                   {InputDef::socket("samples", "LATENT"), upscale_method(), InputDef::number("scale_by", 1.5, 0.01, 8.0, 0.01)}, {"LATENT"},
                   [](NodeContext&, const Inputs& in) {
                     return latent_result(sampling::scale_latent(in.get<Latent>("samples"), in.number("scale_by"),
                                                                 sampling::resample_method_from_string(in.text("upscale_method"))));
                   });
}

NodeDef latent_composite() {
  return make_node({"LatentComposite", "Latent Composite", "latent"},
                   {InputDef::socket("samples_to", "LATENT"), InputDef::socket("samples_from", "LATENT"), pixels_input("x", 0, 0, 8),
                    pixels_input("y", 0, 0, 8), pixels_input("feather", 0, 0, 8)},
                   {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     Latent out = in.get<Latent>("samples_to");
                     out.samples = sampling::composite(out.samples, in.get<Latent>("samples_from").samples, in.integer("x") / kPixelsPerLatent,
                                                       in.integer("y") / kPixelsPerLatent, in.integer("feather") / kPixelsPerLatent);
                     return latent_result(std::move(out));
                   });
}

NodeDef latent_composite_masked() {
  NodeDef node = make_node({"LatentCompositeMasked", "LatentCompositeMasked", "latent"},
                           {InputDef::socket("destination", "LATENT"), InputDef::socket("source", "LATENT"), pixels_input("x", 0, 0, 8),
                            pixels_input("y", 0, 0, 8), InputDef::boolean("resize_source", false), InputDef::socket("mask", "MASK").as_optional()},
                           {"LATENT"}, [](NodeContext&, const Inputs& in) {
                             Latent out = in.get<Latent>("destination");
                             const Tensor mask = in.has("mask") ? in.get<Tensor>("mask") : Tensor();
                             out.samples = sampling::composite_masked(
                                 out.samples, in.get<Latent>("source").samples, mask,
                                 {in.integer("x") / kPixelsPerLatent, in.integer("y") / kPixelsPerLatent, in.boolean("resize_source")});
                             return latent_result(std::move(out));
                           });
  node.module = "comfy_extras.nodes_mask";
  return node;
}

NodeDef set_latent_noise_mask() {
  return make_node({"SetLatentNoiseMask", "Set Latent Noise Mask", "latent/inpaint"},
                   {InputDef::socket("samples", "LATENT"), InputDef::socket("mask", "MASK")}, {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     return latent_result(sampling::set_noise_mask(in.get<Latent>("samples"), in.get<Tensor>("mask")));
                   });
}

NodeDef latent_from_batch() {
  return make_node({"LatentFromBatch", "Latent From Batch", "latent/batch"},
                   {InputDef::socket("samples", "LATENT"), InputDef::integer("batch_index", 0, 0, 63), InputDef::integer("length", 1, 1, 64)},
                   {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     return latent_result(sampling::latent_from_batch(in.get<Latent>("samples"), in.integer("batch_index"), in.integer("length")));
                   });
}

NodeDef repeat_latent_batch() {
  return make_node({"RepeatLatentBatch", "Repeat Latent Batch", "latent/batch"},
                   {InputDef::socket("samples", "LATENT"), InputDef::integer("amount", 1, 1, 64)}, {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     return latent_result(sampling::repeat_latent_batch(in.get<Latent>("samples"), in.integer("amount")));
                   });
}

NodeDef latent_blend() {
  // The reference's interface has whole numbers as bounds here, and they stay whole on the wire.
  InputDef factor = InputDef::number("blend_factor", 0.5, 0, 1, 0.01);
  factor.min = 0;
  factor.max = 1;
  return make_node({"LatentBlend", "Latent Blend", "_for_testing"},
                   {InputDef::socket("samples1", "LATENT"), InputDef::socket("samples2", "LATENT"), std::move(factor)}, {"LATENT"},
                   [](NodeContext&, const Inputs& in) {
                     return latent_result(sampling::blend_latents(in.get<Latent>("samples1"), in.get<Latent>("samples2"),
                                                                  static_cast<float>(in.number("blend_factor"))));
                   });
}

NodeDef latent_rotate() {
  return make_node({"LatentRotate", "Rotate Latent", "latent/transform"},
                   {InputDef::socket("samples", "LATENT"), InputDef::choice("rotation", {"none", "90 degrees", "180 degrees", "270 degrees"})},
                   {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     const std::string rotation = in.text("rotation");
                     const int turns = rotation.starts_with("90") ? 1 : rotation.starts_with("180") ? 2 : rotation.starts_with("270") ? 3 : 0;
                     return latent_result(sampling::rotate_latent(in.get<Latent>("samples"), turns));
                   });
}

NodeDef latent_flip() {
  return make_node({"LatentFlip", "Flip Latent", "latent/transform"},
                   {InputDef::socket("samples", "LATENT"), InputDef::choice("flip_method", {"x-axis: vertically", "y-axis: horizontally"})},
                   {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     const auto axis = in.text("flip_method").starts_with("x") ? sampling::FlipAxis::x : sampling::FlipAxis::y;
                     return latent_result(sampling::flip_latent(in.get<Latent>("samples"), axis));
                   });
}

NodeDef latent_crop() {
  return make_node({"LatentCrop", "Crop Latent", "latent/transform"},
                   {InputDef::socket("samples", "LATENT"), pixels_input("width", 512, 64, 8), pixels_input("height", 512, 64, 8),
                    pixels_input("x", 0, 0, 8), pixels_input("y", 0, 0, 8)},
                   {"LATENT"}, [](NodeContext&, const Inputs& in) {
                     const sampling::Box box{.y = in.integer("y") / kPixelsPerLatent,
                                             .x = in.integer("x") / kPixelsPerLatent,
                                             .height = in.integer("height") / kPixelsPerLatent,
                                             .width = in.integer("width") / kPixelsPerLatent};
                     return latent_result(sampling::crop_latent(in.get<Latent>("samples"), box));
                   });
}

}  // namespace

std::vector<NodeDef> latent_nodes() {
  return {empty_latent_image(),    latent_upscale(),    latent_upscale_by(),   latent_composite(), latent_composite_masked(),
          set_latent_noise_mask(), latent_from_batch(), repeat_latent_batch(), latent_blend(),     latent_rotate(),
          latent_flip(),           latent_crop()};
}

}  // namespace veneer::nodes
