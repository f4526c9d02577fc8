// Nodes that change how a model's network or its noise levels work.
#include "nodes/changed_model.h"
#include "nodes/node_builder.h"
#include "nodes/nodes.h"
#include "nodes/options/add_downscale.h"
#include "nodes/options/free_u.h"
#include "nodes/options/hyper_tile.h"
#include "nodes/options/token_merge.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::InputDef;
using graph::Inputs;
using graph::NodeContext;
using graph::NodeDef;

InputDef model_input() { return InputDef::socket("model", "MODEL"); }

NodeDef free_u_node(const char* name, FreeUVersion version, double b1, double b2) {
  const auto factor = [](const char* input, double default_value) { return InputDef::number(input, default_value, 0.0, 10.0, 0.01); };
  NodeDef node =
      make_node({name, name, "model_patches/unet"}, {model_input(), factor("b1", b1), factor("b2", b2), factor("s1", 0.9), factor("s2", 0.2)},
                {"MODEL"}, [version](NodeContext&, const Inputs& in) {
                  const FreeUScales scales{in.number("b1"), in.number("b2"), in.number("s1"), in.number("s2")};
                  return changed_model(in, [&](ModelValue& model) {
                    model.patcher.set_model_output_block_patch(free_u(version, scales, model.network->config().model_channels));
                  });
                });
  node.module = "comfy_extras.nodes_freelunch";
  return node;
}

// As the checkpoint's own, for other predictions.
sampling::ModelSampling discrete_sampling(const ModelValue& model, const std::string& name, bool zero_terminal_snr) {
  const auto& objects = model.patcher.model()->objects();
  const auto own = objects.find(kModelSampling);
  const auto betas = own == objects.end() ? std::nullopt : own->second.as<sampling::ModelSampling>()->betas();
  if (!betas) throw Error(ErrorCode::unsupported, "the model has no schedule of betas", {{"input", "model"}});
  const sampling::Prediction prediction = sampling::prediction_from_string(name);
  constexpr int kDistilledTimesteps = 50;
  return prediction == sampling::Prediction::lcm ? sampling::ModelSampling::distilled(prediction, kDistilledTimesteps, *betas, zero_terminal_snr)
                                                 : sampling::ModelSampling::discrete(prediction, *betas, zero_terminal_snr);
}

NodeDef model_sampling_discrete() {
  NodeDef node = make_node(
      {"ModelSamplingDiscrete", "ModelSamplingDiscrete", "advanced/model"},
      {model_input(), InputDef::choice("sampling", {"eps", "v_prediction", "lcm", "x0", "img_to_img"}), InputDef::boolean("zsnr", false)}, {"MODEL"},
      [](NodeContext&, const Inputs& in) {
        return changed_model(in, [&](ModelValue& model) {
          const auto sampling = std::make_shared<const sampling::ModelSampling>(discrete_sampling(model, in.text("sampling"), in.boolean("zsnr")));
          model.patcher.add_object_patch(kModelSampling, variant::ModelObject::of(sampling->fingerprint(), sampling));
        });
      });
  node.module = "comfy_extras.nodes_model_advanced";
  return node;
}

sampling::ModelSampling continuous_sampling(const std::string& name, double sigma_min, double sigma_max) {
  if (name == "edm_playground_v2.5" || name == "cosmos_rflow") {
    throw Error(ErrorCode::unsupported, "this way of sampling belongs to a family of models that is not supported",
                {{"input", "sampling"}, {"value", name}, {"allowed", "v_prediction, edm, eps"}});
  }
  const sampling::Prediction prediction = sampling::prediction_from_string(name);
  const double sigma_data = prediction == sampling::Prediction::edm ? 0.5 : 1.0;
  return with_input("sigma_max", [&] {
    return sampling::ModelSampling::continuous(prediction, {.sigma_min = sigma_min, .sigma_max = sigma_max, .sigma_data = sigma_data});
  });
}

NodeDef model_sampling_continuous_edm() {
  const auto level = [](const char* name, double value) { return InputDef::number(name, value, 0.0, 1000.0, 0.001).with("round", false); };
  NodeDef node = make_node({"ModelSamplingContinuousEDM", "ModelSamplingContinuousEDM", "advanced/model"},
                           {model_input(), InputDef::choice("sampling", {"v_prediction", "edm", "edm_playground_v2.5", "eps", "cosmos_rflow"}),
                            level("sigma_max", 120.0), level("sigma_min", 0.002)},
                           {"MODEL"}, [](NodeContext&, const Inputs& in) {
                             return changed_model(in, [&](ModelValue& model) {
                               const auto sampling = std::make_shared<const sampling::ModelSampling>(
                                   continuous_sampling(in.text("sampling"), in.number("sigma_min"), in.number("sigma_max")));
                               model.patcher.add_object_patch(kModelSampling, variant::ModelObject::of(sampling->fingerprint(), sampling));
                             });
                           });
  node.module = "comfy_extras.nodes_model_advanced";
  return node;
}

NodeDef patch_model_add_downscale() {
  const auto method = [](const char* name) {
    return InputDef::choice(name, {"bicubic", "nearest-exact", "bilinear", "area", "bislerp"}).as_combo().with("multiselect", false);
  };
  NodeDef node = make_node({"PatchModelAddDownscale", "PatchModelAddDownscale (Kohya Deep Shrink)", "model_patches/unet"},
                           {model_input(), InputDef::integer("block_number", 3, 1, 32, 1), InputDef::number("downscale_factor", 2.0, 0.1, 9.0, 0.001),
                            InputDef::number("start_percent", 0.0, 0.0, 1.0, 0.001), InputDef::number("end_percent", 0.35, 0.0, 1.0, 0.001),
                            InputDef::boolean("downscale_after_skip", true), method("downscale_method"), method("upscale_method")},
                           {"MODEL"}, [](NodeContext&, const Inputs& in) {
                             const DownscaleSettings settings{.block_number = in.integer("block_number"),
                                                              .factor = in.number("downscale_factor"),
                                                              .start_percent = in.number("start_percent"),
                                                              .end_percent = in.number("end_percent"),
                                                              .shrink = sampling::resample_method_from_string(in.text("downscale_method")),
                                                              .grow = sampling::resample_method_from_string(in.text("upscale_method"))};
                             return changed_model(in, [&](ModelValue& model) {
                               auto shrink = shrink_input_block(settings, *model.patcher.get_model_object<sampling::ModelSampling>(kModelSampling));
                               if (in.boolean("downscale_after_skip")) {
                                 model.patcher.set_model_input_block_patch_after_skip(std::move(shrink));
                               } else {
                                 model.patcher.set_model_input_block_patch(std::move(shrink));
                               }
                               model.patcher.set_model_output_block_patch(grow_to_skip(settings.grow));
                             });
                           });
  node.module = "comfy_extras.nodes_model_downscale";
  node.newer_schema = true;
  return node;
}

void set_around_attention(variant::ModelPatcher& patcher, AttentionPatchPair pair) {
  patcher.set_model_attn1_patch(std::move(pair.before));
  patcher.set_model_attn1_output_patch(std::move(pair.after));
}

NodeDef hyper_tile_node() {
  NodeDef node = make_node(
      {"HyperTile", "", "model_patches/unet"},
      {model_input(), InputDef::integer("tile_size", 256, 1, 2048), InputDef::integer("swap_size", 2, 1, 128),
       InputDef::integer("max_depth", 0, 0, 10), InputDef::boolean("scale_depth", false)},
      {"MODEL"}, [](NodeContext&, const Inputs& in) {
        const HyperTileSettings settings{in.integer("tile_size"), in.integer("swap_size"), in.integer("max_depth"), in.boolean("scale_depth")};
        return changed_model(in,
                             [&](ModelValue& model) { set_around_attention(model.patcher, hyper_tile(settings, model.patcher.runtime().compat)); });
      });
  node.module = "comfy_extras.nodes_hypertile";
  node.newer_schema = true;
  return node;
}

NodeDef tome_patch_model() {
  NodeDef node =
      make_node({"TomePatchModel", "", "model_patches/unet"}, {model_input(), InputDef::number("ratio", 0.3, 0.0, 1.0, 0.01)}, {"MODEL"},
                [](NodeContext&, const Inputs& in) {
                  return changed_model(in, [&](ModelValue& model) { set_around_attention(model.patcher, merge_tokens(in.number("ratio"))); });
                });
  node.module = "comfy_extras.nodes_tomesd";
  node.newer_schema = true;
  return node;
}

}  // namespace

std::vector<NodeDef> model_option_nodes() {
  return {free_u_node("FreeU", FreeUVersion::v1, 1.1, 1.2),
          free_u_node("FreeU_V2", FreeUVersion::v2, 1.3, 1.4),
          model_sampling_discrete(),
          model_sampling_continuous_edm(),
          patch_model_add_downscale(),
          hyper_tile_node(),
          tome_patch_model()};
}

}  // namespace veneer::nodes
