#include "models/family/family.h"

#include <algorithm>

#include "veneer/error.h"

namespace veneer::models {
namespace {

bool any_under(const WeightMap& tensors, const std::string& prefix) {
  const auto first = tensors.lower_bound(prefix);
  return first != tensors.end() && first->first.starts_with(prefix);
}

// A UNet of the SD 1.x kind, whole or in pieces: 1x1 convolutions around its transformers, no vector conditioning, no control image.
bool has_sd1_unet(const WeightMap& tensors, const std::string& prefix) {
  const auto projection = tensors.find(prefix + "middle_block.1.proj_in.weight");
  return any_under(tensors, prefix + "input_blocks.") && (projection == tensors.end() || projection->second.rank() == 4) &&
         !any_under(tensors, prefix + "label_emb.") && !any_under(tensors, prefix + "input_hint_block.");
}

constexpr FamilyDef kFamilies[] = {
    {.name = "sd1",
     .title = "Stable Diffusion 1.x",
     .unet_prefix = "model.diffusion_model.",
     .vae_prefix = "first_stage_model.",
     .unet_name = "diffusion_model.",
     .vae_name = "",
     .clip = sd1_clip_l,
     .clip_stem = "cond_stage_model.",
     .has_unet = has_sd1_unet,
     .unet_heads = {.heads = 8, .head_dim = 0},
     .latent_scale = 0.18215F,
     .latent_channels = 4,
     .prediction = "eps",
     .schedule = {},
     .modelspec_architecture = "stable-diffusion-v1"},
};

// A text that a tensor's name contains, and what the file then is. The first that matches counts.
struct Sign {
  std::string_view text;
  std::string_view meaning;
};

constexpr Sign kForeign[] = {
    {"conditioner.embedders.", "a Stable Diffusion XL checkpoint"},
    {"model.diffusion_model.label_emb.", "the UNet of a Stable Diffusion XL checkpoint"},
    {"cond_stage_model.model.", "a Stable Diffusion 2.x checkpoint"},
    {"joint_blocks.", "a Stable Diffusion 3 checkpoint"},
    {"double_blocks.", "a Flux checkpoint"},
    {"lora_up.", "a LoRA"},
    {"lora_down.", "a LoRA"},
    {"lora_A.", "a LoRA"},
    {"hada_w1_a", "a LoHa adapter"},
    {"lokr_w1", "a LoKr adapter"},
    {"input_hint_block.", "a ControlNet"},
    {"controlnet_cond_embedding.", "a ControlNet in the diffusers layout"},
    {"down_blocks.0.resnets.", "a model in the diffusers layout"},
    {"transformer_blocks.0.attn.", "a diffusion transformer"},
    {"emb_params", "a textual-inversion embedding"},
    {"string_to_param", "a textual-inversion embedding"},
    {"text_model.encoder.layers.0.", "a CLIP text encoder without a UNet"},
    {"decoder.mid.block_1.", "an autoencoder without a UNet"},
};

bool any_contains(const WeightMap& tensors, std::string_view text) {
  return std::any_of(tensors.begin(), tensors.end(), [&](const auto& entry) { return entry.first.find(text) != std::string::npos; });
}

}  // namespace

std::span<const FamilyDef> all_families() { return kFamilies; }

std::string_view looks_like(const WeightMap& tensors) {
  for (const Sign& sign : kForeign) {
    if (any_contains(tensors, sign.text)) return sign.meaning;
  }
  return "";
}

const FamilyDef& detect_family(const WeightMap& tensors, std::string_view unet_prefix, const std::string& source) {
  std::string supported;
  for (const FamilyDef& family : kFamilies) {
    if (family.has_unet(tensors, std::string(unet_prefix))) return family;
    supported += (supported.empty() ? "" : ", ") + std::string(family.title);
  }
  const std::string_view foreign = looks_like(tensors);
  throw Error(ErrorCode::unsupported, "checkpoint: not a model that can be run here",
              {{"file", source}, {"looks_like", foreign.empty() ? "nothing known" : std::string(foreign)}, {"supported", supported}});
}

}  // namespace veneer::models
