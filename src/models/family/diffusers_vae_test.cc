#include "models/family/diffusers_vae.h"

#include <gmock/gmock.h>

#include "models/family/checkpoint.h"
#include "models/testing/test_models.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// Names as diffusers gives them, against the original ones, for an autoencoder of four levels.
const std::pair<const char*, const char*> kNames[] = {
    {"encoder.conv_in.weight", "encoder.conv_in.weight"},
    {"encoder.down_blocks.0.resnets.1.norm2.bias", "encoder.down.0.block.1.norm2.bias"},
    {"encoder.down_blocks.1.resnets.0.conv_shortcut.weight", "encoder.down.1.block.0.nin_shortcut.weight"},
    {"encoder.down_blocks.2.downsamplers.0.conv.weight", "encoder.down.2.downsample.conv.weight"},
    {"encoder.mid_block.resnets.1.conv1.weight", "encoder.mid.block_2.conv1.weight"},
    {"encoder.mid_block.attentions.0.group_norm.weight", "encoder.mid.attn_1.norm.weight"},
    {"decoder.mid_block.attentions.0.to_q.weight", "decoder.mid.attn_1.q.weight"},
    {"decoder.mid_block.attentions.0.query.bias", "decoder.mid.attn_1.q.bias"},
    {"decoder.mid_block.attentions.0.to_out.0.weight", "decoder.mid.attn_1.proj_out.weight"},
    {"decoder.mid_block.attentions.0.proj_attn.bias", "decoder.mid.attn_1.proj_out.bias"},
    {"decoder.up_blocks.0.resnets.2.conv2.weight", "decoder.up.3.block.2.conv2.weight"},
    {"decoder.up_blocks.3.resnets.0.conv1.weight", "decoder.up.0.block.0.conv1.weight"},
    {"decoder.up_blocks.1.upsamplers.0.conv.bias", "decoder.up.2.upsample.conv.bias"},
    {"decoder.conv_norm_out.weight", "decoder.norm_out.weight"},
    {"post_quant_conv.weight", "post_quant_conv.weight"},
};

TEST(DiffusersVae, NamesBecomeTheOriginalOnes) {
  WeightMap tensors;
  float value = 0;
  for (const auto& [name, original] : kNames) tensors.emplace(std::string("vae.") + name, Tensor::from(Shape({1}), std::vector<float>{value++}));
  EXPECT_TRUE(is_diffusers_vae(tensors, "vae."));
  EXPECT_FALSE(is_diffusers_vae(tensors, ""));
  const WeightMap renamed = with_original_vae_names(tensors, "vae.");
  ASSERT_EQ(renamed.size(), std::size(kNames));
  value = 0;
  for (const auto& [name, original] : kNames) {
    ASSERT_TRUE(renamed.contains(original)) << original;
    EXPECT_EQ(renamed.find(original)->second.floats()[0], value++) << original;
  }
}

TEST(DiffusersVae, OddNumbersAreLeftAlone) {
  WeightMap tensors;
  for (const char* name :
       {"decoder.up_blocks.1.resnets.0.conv1.weight", "decoder.up_blocks.99999999999999999999.resnets.0.conv1.weight",
        "decoder.up_blocks.-1.resnets.0.conv1.weight", "decoder.up_blocks.0", "decoder.up_blocks.0.resnets.", "decoder.up_blocks.0.resnets.7"}) {
    tensors.emplace(name, Tensor::zeros(Shape({1}), DType::f16));
  }
  const WeightMap renamed = with_original_vae_names(tensors, "");
  EXPECT_TRUE(renamed.contains("decoder.up.0.block.0.conv1.weight"));
  EXPECT_EQ(renamed.size(), tensors.size());
}

// The tiny autoencoder under diffusers' names, with matrices in its attention as that layout has them.
TEST(DiffusersVae, IsLoadedWithTheSameConfiguration) {
  VaeConfig config = testing::tiny_vae_config();
  config.linear_attention = true;
  const int levels = static_cast<int>(config.decoder.size());
  WeightMap tensors;
  for (const auto& [key, tensor] : random_weights(Vae(config).architecture(), DType::f16, 1)) {
    std::string name = key;
    const auto swap = [&](const std::string& from, const std::string& to) {
      if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    };
    for (int i = 0; i < levels; ++i) swap("decoder.up." + std::to_string(i) + ".", "decoder.up_blocks." + std::to_string(levels - 1 - i) + ".");
    swap("encoder.down.", "encoder.down_blocks.");
    swap(".block.", ".resnets.");
    swap("mid.block_1.", "mid_block.resnets.0.");
    swap("mid.block_2.", "mid_block.resnets.1.");
    swap("attn_1.norm.", "attn_1.group_norm.");
    swap("attn_1.proj_out.", "attn_1.to_out.0.");
    for (const char* part : {"q.", "k.", "v."}) swap(std::string("attn_1.") + part, std::string("attn_1.to_") + part);
    swap("mid.attn_1.", "mid_block.attentions.0.");
    swap("nin_shortcut.", "conv_shortcut.");
    swap("coder.norm_out.", "coder.conv_norm_out.");
    swap("downsample.", "downsamplers.0.");
    swap("upsample.", "upsamplers.0.");
    tensors.emplace(name, tensor);
  }
  EXPECT_EQ(load_vae(tensors, "file").network->config(), config);
  tensors.emplace("decoder.up_blocks.0.attentions.0.to_q.weight", Tensor::zeros(Shape({8, 8}), DType::f16));
  EXPECT_THROW(load_vae(tensors, "file"), Error);
}

}  // namespace
}  // namespace veneer::models
