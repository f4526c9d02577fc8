#include "registry/model_facts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace veneer::registry {
namespace {

using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

ModelFacts facts_of(const Shapes& tensors, std::map<std::string, std::string> metadata = {}) {
  HeaderFacts header;
  header.format = "safetensors";
  for (const auto& [name, shape] : tensors) header.tensors.push_back({name, "f16", shape});
  std::ranges::sort(header.tensors, {}, &TensorFact::name);
  header.metadata = std::move(metadata);
  return recognise(header);
}
std::string kind(const Shapes& tensors) {
  const ModelFacts facts = facts_of(tensors);
  return facts.type + "/" + facts.family;
}

const std::string kUnet = "model.diffusion_model.";

TEST(Recognise, TellsCheckpointsOfStableDiffusionApart) {
  const Shapes sd1 = {{kUnet + "input_blocks.0.0.weight", {320, 4, 3, 3}}, {kUnet + "middle_block.1.proj_in.weight", {1280, 1280, 1, 1}}};
  EXPECT_EQ(kind(sd1), "checkpoint/sd1");
  EXPECT_EQ(kind({{kUnet + "input_blocks.0.0.weight", {320, 4, 3, 3}}, {kUnet + "middle_block.1.proj_in.weight", {1280, 1280}}}), "checkpoint/sd2");
  EXPECT_EQ(kind({{kUnet + "input_blocks.0.0.weight", {320, 4, 3, 3}}, {kUnet + "label_emb.0.0.weight", {1280, 2816}}}), "checkpoint/sdxl");
  EXPECT_EQ(kind({{kUnet + "input_blocks.0.0.weight", {384, 4, 3, 3}}, {kUnet + "label_emb.0.0.weight", {1536, 2560}}}), "checkpoint/sdxl_refiner");
}

TEST(Recognise, TellsPartsByThemselves) {
  EXPECT_EQ(kind({{"input_blocks.0.0.weight", {320, 4, 3, 3}}, {"label_emb.0.0.weight", {1280, 2816}}}), "diffusion_model/sdxl");
  EXPECT_EQ(kind({{"double_blocks.0.img_attn.qkv.weight", {9216, 3072}}}), "diffusion_model/flux");
  EXPECT_EQ(kind({{"text_model.embeddings.token_embedding.weight", {49408, 768}}}), "text_encoder/");
  EXPECT_EQ(facts_of({{"text_model.embeddings.token_embedding.weight", {49408, 1280}}}).title, "CLIP-G text encoder");
  const ModelFacts vae = facts_of({{"decoder.conv_in.weight", {512, 16, 3, 3}}, {"encoder.conv_in.weight", {128, 3, 3, 3}}});
  EXPECT_EQ(vae.type, "vae");
  EXPECT_EQ(vae.detail, "16 latent channels");
  EXPECT_EQ(kind({{"control_model.input_hint_block.0.weight", {16, 3, 3, 3}}, {"control_model.middle_block.1.proj_in.weight", {1280, 1280, 1, 1}}}),
            "controlnet/sd1");
  EXPECT_EQ(kind({{"emb_params", {3, 1024}}}), "embedding/sd2");
  EXPECT_EQ(kind({{"model.1.sub.0.RDB1.conv1.0.weight", {32, 64, 3, 3}}}), "upscaler/");
  EXPECT_EQ(kind({{"vision_model.encoder.layers.0.self_attn.q_proj.weight", {1024, 1024}}}), "clip_vision/");
}

TEST(Recognise, TellsWhichModelALoraIsFor) {
  EXPECT_EQ(kind({{"lora_unet_a_attn2_to_k.lora_down.weight", {8, 768}}, {"lora_unet_a_attn2_to_k.lora_up.weight", {320, 8}}}), "lora/sd1");
  EXPECT_EQ(kind({{"lora_unet_a_attn2_to_k.lora_down.weight", {8, 2048}}, {"lora_unet_a_attn2_to_k.lora_up.weight", {640, 8}}}), "lora/sdxl");
  EXPECT_EQ(kind({{"unet.a.attn2.to_k.lora_A.weight", {8, 1024}}, {"unet.a.attn2.to_k.lora_B.weight", {320, 8}}}), "lora/sd2");
  EXPECT_EQ(kind({{"lora_unet_double_blocks_0_img_attn_qkv.lora_up.weight", {9216, 8}}}), "lora/flux");
  EXPECT_EQ(kind({{"lora_unet_mid.hada_w1_a", {8, 8}}}), "lora/");
  EXPECT_EQ(facts_of({{"lora_unet_mid.hada_w1_a", {8, 8}}}, {{"ss_base_model_version", "sdxl_base_v1-0"}}).family, "sdxl");
}

TEST(Recognise, TellsFurtherFacts) {
  const ModelFacts model =
      facts_of({{kUnet + "input_blocks.0.0.weight", {320, 9, 3, 3}}, {kUnet + "middle_block.1.proj_in.weight", {1280, 1280}}, {"v_pred", {}}},
               {{"modelspec.prediction_type", "v"}});
  EXPECT_EQ(model.detail, "inpainting, v-prediction");
  EXPECT_EQ(model.num_tensors, 3U);
  EXPECT_EQ(model.dtypes.at("f16"), 3U);
  EXPECT_EQ(model.num_parameters, 320U * 9 * 9 + 1280U * 1280 + 1);
}

TEST(Recognise, SaysNothingOfWhatItDoesNotKnow) {
  EXPECT_EQ(kind({}), "/");
  EXPECT_EQ(kind({{"weight", {4}}}), "/");
}

}  // namespace
}  // namespace veneer::registry
