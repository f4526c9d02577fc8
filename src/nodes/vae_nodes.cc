#include "models/vae/inpaint.h"
#include "models/vae/tiled.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/require_finite.h"
#include "nodes/services.h"
#include "nodes/values.h"
#include "sampling/latent.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;
using graph::NodeResult;
using graph::Value;
using sampling::Latent;

const VaeValue& vae_of(const Inputs& in) {
  if (!in.has("vae")) throw Error(ErrorCode::invalid, "the autoencoder is missing: the checkpoint holds none", {{"input", "vae"}});
  return in.get<VaeValue>("vae");
}

// One call of an autoencoder: its weights, where it computes, and the check for cancellation between blocks.
struct VaeCall {
  VaeCall(NodeContext& node, const Inputs& inputs)
      : value(vae_of(inputs)), vae(*value.network), view(value.patcher.open_view()), context(node.environment().get<ComputeSettings>().context()) {
    extras.checkpoint = [cancel = node.cancel()] { cancel.check(); };
  }

  const VaeValue& value;
  const models::Vae& vae;
  std::unique_ptr<variant::ModelView> view;
  compute::Context context;
  models::VaeCallExtras extras;
};

NodeResult image_result(const VaeCall& call, Tensor image) { return {Value::of("IMAGE", require_finite(std::move(image), "picture", *call.view))}; }
NodeResult latent_result(const VaeCall& call, Latent latent) {
  latent.samples = require_finite(std::move(latent.samples), "latent", *call.view);
  return {Value::of("LATENT", std::move(latent))};
}

InputDef latent_input() { return InputDef::socket("samples", "LATENT"); }
InputDef pixel_input() { return InputDef::socket("pixels", "IMAGE"); }
InputDef vae_input() { return InputDef::socket("vae", "VAE"); }

// Sizes are in pixels here; the two temporal ones belong to video models and change nothing for pictures.
std::vector<InputDef> tiling_inputs(InputDef first, int64_t tile_step) {
  return {std::move(first),
          vae_input(),
          InputDef::integer("tile_size", 512, 64, 4096, tile_step),
          InputDef::integer("overlap", 64, 0, 4096, 32),
          InputDef::integer("temporal_size", 64, 8, 4096, 4).tip("Only used for video VAEs: amount of frames to process at a time."),
          InputDef::integer("temporal_overlap", 8, 4, 4096, 4).tip("Only used for video VAEs: amount of frames to overlap.")};
}

NodeDef vae_decode() {
  return make_node({"VAEDecode", "VAE Decode", "latent"}, {latent_input(), vae_input()}, {"IMAGE"}, [](NodeContext& node, const Inputs& in) {
    VaeCall call(node, in);
    return image_result(call, call.vae.decode(*call.view, call.context, in.get<Latent>("samples").samples, call.extras));
  });
}

NodeDef vae_decode_tiled() {
  return make_node({"VAEDecodeTiled", "VAE Decode (Tiled)", "_for_testing"}, tiling_inputs(latent_input(), 32), {"IMAGE"},
                   [](NodeContext& node, const Inputs& in) {
                     VaeCall call(node, in);
                     const int64_t tile = in.integer("tile_size");
                     // An overlap of more than a quarter of the tile would leave passes with halved tiles nothing to advance by.
                     const int64_t overlap = std::min(in.integer("overlap"), tile / 4);
                     const models::TileSize size{tile / kPixelsPerLatent, tile / kPixelsPerLatent, overlap / kPixelsPerLatent};
                     return image_result(
                         call, models::decode_tiled(call.vae, *call.view, call.context, in.get<Latent>("samples").samples, size, call.extras));
                   });
}

NodeDef vae_encode() {
  return make_node({"VAEEncode", "VAE Encode", "latent"}, {pixel_input(), vae_input()}, {"LATENT"}, [](NodeContext& node, const Inputs& in) {
    VaeCall call(node, in);
    return latent_result(call, {.samples = call.vae.encode(*call.view, call.context, in.get<Tensor>("pixels"), call.extras)});
  });
}

// In pixels. Latents that no tile covers would be undefined, and a pass with tiles of half the size has to advance by something.
models::TileSize encode_tile(int64_t tile, int64_t overlap) {
  if (tile % kPixelsPerLatent != 0 || overlap % kPixelsPerLatent != 0 || overlap > tile / 2 - kPixelsPerLatent) {
    throw Error(ErrorCode::invalid, "tiles do not cover the picture",
                {{"input", "tile_size, overlap"},
                 {"value", std::to_string(tile) + ", " + std::to_string(overlap)},
                 {"allowed", "multiples of 8; the overlap at least 8 below half the tile"}});
  }
  return {tile, tile, overlap};
}

NodeDef vae_encode_tiled() {
  return make_node({"VAEEncodeTiled", "VAE Encode (Tiled)", "_for_testing"}, tiling_inputs(pixel_input(), 64), {"LATENT"},
                   [](NodeContext& node, const Inputs& in) {
                     VaeCall call(node, in);
                     const models::TileSize size = encode_tile(in.integer("tile_size"), in.integer("overlap"));
                     return latent_result(
                         call, {.samples = models::encode_tiled(call.vae, *call.view, call.context, in.get<Tensor>("pixels"), size, call.extras)});
                   });
}

NodeDef vae_encode_for_inpaint() {
  return make_node({"VAEEncodeForInpaint", "VAE Encode (for Inpainting)", "latent/inpaint"},
                   {pixel_input(), vae_input(), InputDef::socket("mask", "MASK"), InputDef::integer("grow_mask_by", 6, 0, 64, 1)}, {"LATENT"},
                   [](NodeContext& node, const Inputs& in) {
                     VaeCall call(node, in);
                     models::InpaintLatent out =
                         models::encode_for_inpaint(call.vae, *call.view, call.context, in.get<Tensor>("pixels"), in.get<Tensor>("mask"),
                                                    static_cast<int>(in.integer("grow_mask_by")), call.extras);
                     return latent_result(call, {.samples = std::move(out.samples), .noise_mask = std::move(out.noise_mask)});
                   });
}

}  // namespace

std::vector<NodeDef> vae_nodes() { return {vae_decode(), vae_decode_tiled(), vae_encode(), vae_encode_tiled(), vae_encode_for_inpaint()}; }

}  // namespace veneer::nodes
