#include "nodes/apply_lora.h"
#include "nodes/model_choice.h"
#include "nodes/model_store.h"
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

template <typename T>
Value value_or_none(const char* type, const std::optional<T>& content) {
  return content ? Value::of(type, *content) : Value();
}

NodeDef checkpoint_loader_simple() {
  NodeDef node =
      make_node({"CheckpointLoaderSimple", "Load Checkpoint", "loaders"},
                {model_choice("ckpt_name", "checkpoints").tip("The name of the checkpoint (model) to load.")}, {"MODEL", "CLIP", "VAE"},
                [](NodeContext& context, const Inputs& in) {
                  const ModelStore::Checkpoint loaded =
                      with_input("ckpt_name", [&] { return context.environment().get<ModelStore>().checkpoint(in.text("ckpt_name")); });
                  return NodeResult{value_or_none("MODEL", loaded.model), value_or_none("CLIP", loaded.clip), value_or_none("VAE", loaded.vae)};
                });
  node.outputs[0].tooltip = "The model used for denoising latents.";
  node.outputs[1].tooltip = "The CLIP model used for encoding text prompts.";
  node.outputs[2].tooltip = "The VAE model used for encoding and decoding images to and from latent space.";
  node.description = "Loads a diffusion model checkpoint, diffusion models are used to denoise latents.";
  watch_file(node, "ckpt_name", "checkpoints");
  return node;
}

InputDef strength_input(const char* name, const char* tip) { return InputDef::number(name, 1.0, -100.0, 100.0, 0.01).tip(tip); }

NodeResult load_lora(NodeContext& context, const Inputs& in, bool with_clip) {
  const ModelValue& model = in.get<ModelValue>("model");
  const ClipValue* clip = with_clip && in.has("clip") ? &in.get<ClipValue>("clip") : nullptr;
  const LoraStrengths strengths{in.number("strength_model"), with_clip ? in.number("strength_clip") : 0};
  if (strengths.model == 0 && strengths.clip == 0) {
    // The same models, and the file is not even read.
    if (!with_clip) return {in.value("model")};
    return {in.value("model"), in.value("clip")};
  }
  const LoraResult result = with_input(
      "lora_name", [&] { return apply_lora(&model, clip, context.environment().get<ModelStore>().lora(in.text("lora_name")), strengths); });
  if (!result.remark.empty()) context.progress_text(result.remark);
  if (!with_clip) return {value_or_none("MODEL", result.model)};
  return {value_or_none("MODEL", result.model), value_or_none("CLIP", result.clip)};
}

NodeDef lora_loader() {
  NodeDef node = make_node({"LoraLoader", "Load LoRA", "loaders"},
                           {InputDef::socket("model", "MODEL").tip("The diffusion model the LoRA will be applied to."),
                            InputDef::socket("clip", "CLIP").tip("The CLIP model the LoRA will be applied to."),
                            model_choice("lora_name", "loras").tip("The name of the LoRA."),
                            strength_input("strength_model", "How strongly to modify the diffusion model. This value can be negative."),
                            strength_input("strength_clip", "How strongly to modify the CLIP model. This value can be negative.")},
                           {"MODEL", "CLIP"}, [](NodeContext& context, const Inputs& in) { return load_lora(context, in, true); });
  node.outputs[0].tooltip = "The modified diffusion model.";
  node.outputs[1].tooltip = "The modified CLIP model.";
  node.description =
      "LoRAs are used to modify diffusion and CLIP models, altering the way in which latents are denoised such as applying styles. Multiple LoRA "
      "nodes can be "
      "linked together.";
  watch_file(node, "lora_name", "loras");
  return node;
}

NodeDef lora_loader_model_only() {
  NodeDef node = make_node(
      {"LoraLoaderModelOnly", "LoraLoaderModelOnly", "loaders"},
      {InputDef::socket("model", "MODEL"), model_choice("lora_name", "loras"), InputDef::number("strength_model", 1.0, -100.0, 100.0, 0.01)},
      {"MODEL"}, [](NodeContext& context, const Inputs& in) { return load_lora(context, in, false); });
  watch_file(node, "lora_name", "loras");
  return node;
}

NodeDef vae_loader() {
  NodeDef node =
      make_node({"VAELoader", "Load VAE", "loaders"}, {model_choice("vae_name", "vae")}, {"VAE"}, [](NodeContext& context, const Inputs& in) {
        return NodeResult{Value::of("VAE", with_input("vae_name", [&] { return context.environment().get<ModelStore>().vae(in.text("vae_name")); }))};
      });
  watch_file(node, "vae_name", "vae");
  return node;
}

NodeDef unet_loader() {
  NodeDef node = make_node(
      {"UNETLoader", "Load Diffusion Model", "advanced/loaders"},
      {model_choice("unet_name", "diffusion_models"), InputDef::choice("weight_dtype", {"default", "fp8_e4m3fn", "fp8_e4m3fn_fast", "fp8_e5m2"})},
      {"MODEL"}, [](NodeContext& context, const Inputs& in) {
        if (in.text("weight_dtype") != "default") {
          throw Error(ErrorCode::unsupported, "weights are computed in the engine's dtype",
                      {{"input", "weight_dtype"}, {"value", in.text("weight_dtype")}, {"allowed", "default"}});
        }
        return NodeResult{Value::of(
            "MODEL", with_input("unet_name", [&] { return context.environment().get<ModelStore>().diffusion_model(in.text("unet_name")); }))};
      });
  watch_file(node, "unet_name", "diffusion_models");
  return node;
}

}  // namespace

std::vector<NodeDef> loader_nodes() { return {checkpoint_loader_simple(), lora_loader(), lora_loader_model_only(), vae_loader(), unet_loader()}; }

}  // namespace veneer::nodes
