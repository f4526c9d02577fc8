#include "registry/model_definitions.h"

namespace veneer::registry {
namespace {

constexpr std::string_view kSd1 = "Stable Diffusion 1.x";
constexpr std::string_view kSd2 = "Stable Diffusion 2.x";
constexpr std::string_view kSdxl = "Stable Diffusion XL (base)";
constexpr std::string_view kRefiner = "Stable Diffusion XL (refiner)";
constexpr std::string_view kSd3 = "Stable Diffusion 3";
constexpr std::string_view kFlux = "Flux";

constexpr int kAny = Clue::kAny;
constexpr int kRank = Clue::kRank;

// What the factors of an adapter's layers are called.
constexpr std::string_view kLoraUp = "*.lora_up.weight";
constexpr std::string_view kLoraB = "*lora_B*";
// 1.x and 2.x differ in how their transformers begin, XL has a vector beside the text, whose width tells base and refiner apart.
constexpr std::string_view kProjection = "*middle_block.1.proj_in.weight";

}  // namespace

std::span<const ModelDefinition> model_definitions() {
  static const std::vector<ModelDefinition> kDefinitions = {
      // Adapters first: their layers bear the names of those that they change.
      {"lora", "flux", "LoRA for Flux", {{kLoraUp}, {"*double_blocks*"}}},
      {"lora", "flux", "LoRA for Flux", {{kLoraB}, {"*single_transformer_blocks*"}}},
      {"lora", "sd3", "LoRA for Stable Diffusion 3", {{kLoraUp}, {"*joint_blocks*"}}},
      {"lora", "sd3", "LoRA for Stable Diffusion 3", {{kLoraB}, {"*add_k_proj*"}}},
      {"lora", "sdxl", "LoRA for Stable Diffusion XL", {{kLoraUp}, {"lora_te2_*"}}},
      {"lora", "sdxl", "LoRA for Stable Diffusion XL", {{"*attn2_to_k.lora_down.weight", 1, 2048}}},
      {"lora", "sdxl", "LoRA for Stable Diffusion XL", {{"*attn2.to_k*lora_A*", 1, 2048}}},
      {"lora", "sdxl", "LoRA for Stable Diffusion XL", {{"*attn2*to_k*lora*down*", 1, 2048}}},
      {"lora", "sd2", "LoRA for Stable Diffusion 2.x", {{"*attn2_to_k.lora_down.weight", 1, 1024}}},
      {"lora", "sd2", "LoRA for Stable Diffusion 2.x", {{"*attn2.to_k*lora_A*", 1, 1024}}},
      {"lora", "sd1", "LoRA for Stable Diffusion 1.x", {{"*attn2_to_k.lora_down.weight", 1, 768}}},
      {"lora", "sd1", "LoRA for Stable Diffusion 1.x", {{"*attn2.to_k*lora_A*", 1, 768}}},
      {"lora", "sd1", "LoRA for Stable Diffusion 1.x", {{"*attn2*to_k*lora*down*", 1, 768}}},
      {"lora", "", "LoRA", {{kLoraUp}}},
      {"lora", "", "LoRA", {{kLoraB}}},
      {"lora", "", "LoRA", {{"*lora.up.weight"}}},
      {"lora", "", "LoHa adapter", {{"*hada_w1_a"}}},
      {"lora", "", "LoKr adapter", {{"*lokr_w*"}}},
      {"lora", "", "OFT adapter", {{"*oft_blocks"}}},
      {"lora", "", "GLoRA adapter", {{"*.a1.weight"}, {"*.b1.weight"}}},
      {"ip_adapter", "", "IP-Adapter", {{"ip_adapter.*"}}},
      {"ip_adapter", "", "IP-Adapter", {{"*to_k_ip.weight"}}},

      // ControlNets resemble the half of a UNet.
      {"controlnet", "sdxl", "ControlNet for Stable Diffusion XL", {{"*input_hint_block.0.weight"}, {"*label_emb.0.0.weight"}}},
      {"controlnet", "sd2", "ControlNet for Stable Diffusion 2.x", {{"*input_hint_block.0.weight"}, {kProjection, kRank, 2}}},
      {"controlnet", "sd1", "ControlNet for Stable Diffusion 1.x", {{"*input_hint_block.0.weight"}}},
      {"controlnet", "flux", "ControlNet for Flux", {{"controlnet_blocks.0.weight"}, {"transformer_blocks.0.*"}}},
      {"controlnet", "sdxl", "ControlNet for Stable Diffusion XL", {{"controlnet_cond_embedding.*"}, {"add_embedding.linear_1.weight"}}},
      {"controlnet", "sd2", "ControlNet for Stable Diffusion 2.x", {{"controlnet_cond_embedding.*"}, {"*attn2.to_k.weight", 1, 1024}}},
      {"controlnet", "sd1", "ControlNet for Stable Diffusion 1.x", {{"controlnet_cond_embedding.*"}}},
      {"controlnet", "", "Control-LoRA", {{"lora_controlnet"}}},
      {"t2i_adapter", "", "T2I adapter", {{"*body.0.block1.weight"}}},

      {"checkpoint", "sdxl_refiner", kRefiner, {{"model.diffusion_model.label_emb.0.0.weight", 1, 2560}}},
      {"checkpoint", "sdxl", kSdxl, {{"model.diffusion_model.label_emb.0.0.weight"}}},
      {"checkpoint", "sd2", kSd2, {{"model.diffusion_model.input_blocks.0.0.weight"}, {kProjection, kRank, 2}}},
      {"checkpoint", "sd1", kSd1, {{"model.diffusion_model.input_blocks.0.0.weight"}}},
      {"checkpoint", "sd3", kSd3, {{"model.diffusion_model.joint_blocks.0.*"}}},
      {"checkpoint", "flux", kFlux, {{"model.diffusion_model.double_blocks.0.*"}, {"*first_stage_model.*"}}},
      {"checkpoint", "flux", kFlux, {{"model.diffusion_model.double_blocks.0.*"}, {"text_encoders.*"}}},

      {"diffusion_model", "flux", kFlux, {{"*double_blocks.0.img_attn.*"}}},
      {"diffusion_model", "flux", kFlux, {{"single_transformer_blocks.0.*"}}},
      {"diffusion_model", "sd3", kSd3, {{"*joint_blocks.0.*"}}},
      {"diffusion_model", "wan", "Wan video model", {{"*blocks.0.self_attn.k.weight"}, {"*blocks.0.cross_attn.k.weight"}}},
      {"diffusion_model", "sdxl_refiner", kRefiner, {{"*label_emb.0.0.weight", 1, 2560}}},
      {"diffusion_model", "sdxl", kSdxl, {{"*label_emb.0.0.weight"}}},
      {"diffusion_model", "sd2", kSd2, {{"*input_blocks.0.0.weight"}, {kProjection, kRank, 2}}},
      {"diffusion_model", "sd1", kSd1, {{"*input_blocks.0.0.weight"}, {kProjection}}},
      {"diffusion_model", "sdxl", kSdxl, {{"down_blocks.0.resnets.0.conv1.weight"}, {"add_embedding.linear_1.weight"}}},
      {"diffusion_model", "sd2", kSd2, {{"down_blocks.0.resnets.0.conv1.weight"}, {"*attn2.to_k.weight", 1, 1024}}},
      {"diffusion_model", "sd1", kSd1, {{"down_blocks.0.resnets.0.conv1.weight"}, {"*attn2.to_k.weight", 1, 768}}},

      {"clip_vision", "", "CLIP vision encoder", {{"*vision_model.encoder.layers.0.*"}}},
      {"clip_vision", "", "CLIP vision encoder", {{"visual.transformer.resblocks.0.*"}}},
      {"text_encoder", "", "CLIP-L text encoder", {{"*text_model.embeddings.token_embedding.weight", 1, 768}}},
      {"text_encoder", "", "CLIP-H text encoder", {{"*text_model.embeddings.token_embedding.weight", 1, 1024}}},
      {"text_encoder", "", "CLIP-G text encoder", {{"*text_model.embeddings.token_embedding.weight", 1, 1280}}},
      {"text_encoder", "", "CLIP text encoder", {{"*text_model.encoder.layers.0.*"}}},
      {"text_encoder", "", "T5 text encoder", {{"*encoder.block.0.layer.0.SelfAttention.q.weight"}}},
      {"text_encoder", "", "T5 text encoder", {{"enc.blk.0.attn_q.weight"}}},
      {"text_encoder", "", "language model as text encoder", {{"*model.layers.0.self_attn.q_proj.weight"}}},

      {"vae", "", "autoencoder", {{"*decoder.conv_in.weight"}, {"*encoder.conv_in.weight"}}},
      {"vae", "", "autoencoder (decoder only)", {{"*decoder.conv_in.weight"}}},
      {"vae_approx", "", "tiny autoencoder", {{"*decoder.layers.1.weight"}}},
      {"vae_approx", "", "tiny autoencoder", {{"taesd_*"}}},

      {"embedding", "sdxl", "textual inversion for Stable Diffusion XL", {{"clip_g"}, {"clip_l"}}},
      {"embedding", "sd1", "textual inversion for Stable Diffusion 1.x", {{"emb_params", 1, 768}}},
      {"embedding", "sd2", "textual inversion for Stable Diffusion 2.x", {{"emb_params", 1, 1024}}},
      {"embedding", "", "textual inversion", {{"emb_params"}}},
      {"embedding", "sd1", "textual inversion for Stable Diffusion 1.x", {{"*string_to_param*", 1, 768}}},
      {"embedding", "sd2", "textual inversion for Stable Diffusion 2.x", {{"*string_to_param*", 1, 1024}}},
      {"embedding", "", "textual inversion", {{"*string_to_param*"}}},

      {"upscaler", "", "ESRGAN upscaler", {{"*model.1.sub.0.RDB1.conv1.0.weight"}}},
      {"upscaler", "", "ESRGAN upscaler", {{"*body.0.rdb1.conv1.weight"}}},
      {"upscaler", "", "SwinIR upscaler", {{"*layers.0.residual_group.blocks.0.attn.*"}}},
      {"upscaler", "", "compact SR upscaler", {{"body.0.weight", kRank, 4}, {"body.1.weight", kRank, 1}}},
  };
  return kDefinitions;
}

std::span<const DetailDefinition> detail_definitions() {
  static const std::vector<DetailDefinition> kDetails = {
      {"checkpoint", "inpainting", {{"model.diffusion_model.input_blocks.0.0.weight", 1, 9}}},
      {"checkpoint", "image editing (8 input channels)", {{"model.diffusion_model.input_blocks.0.0.weight", 1, 8}}},
      {"checkpoint", "v-prediction", {{"v_pred", kAny}}},
      {"checkpoint", "zero terminal SNR", {{"ztsnr", kAny}}},
      {"checkpoint", "with an average of its training", {{"model_ema.decay", kAny}}},
      {"diffusion_model", "inpainting", {{"*input_blocks.0.0.weight", 1, 9}}},
      {"vae", "4 latent channels", {{"*decoder.conv_in.weight", 1, 4}}},
      {"vae", "16 latent channels", {{"*decoder.conv_in.weight", 1, 16}}},
      {"vae", "in the diffusers layout", {{"*decoder.mid_block.resnets.0.conv1.weight", kAny}}},
      {"lora", "LoCon (convolutions too)", {{"*conv1.lora_down.weight", kRank, 4}}},
      {"lora", "with a middle factor", {{"*.lora_mid.weight", kAny}}},
      {"lora", "DoRA", {{"*.dora_scale", kAny}}},
      {"lora", "text encoder too", {{"lora_te*", kAny}}},
      {"lora", "text encoder too", {{"text_encoder.*", kAny}}},
      {"lora", "whole differences", {{"*.diff", kAny}}},
  };
  return kDetails;
}

std::span<const MetadataSign> metadata_signs() {
  static const std::vector<MetadataSign> kSigns = {{"stable-diffusion-xl-v1-refiner", "sdxl_refiner"},
                                                   {"sdxl", "sdxl"},
                                                   {"stable-diffusion-xl", "sdxl"},
                                                   {"stable-diffusion-3", "sd3"},
                                                   {"sd3", "sd3"},
                                                   {"flux", "flux"},
                                                   {"stable-diffusion-v2", "sd2"},
                                                   {"sd_v2", "sd2"},
                                                   {"stable-diffusion-v1", "sd1"},
                                                   {"sd_v1", "sd1"}};
  return kSigns;
}

}  // namespace veneer::registry
