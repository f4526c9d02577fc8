#include "nodes/apply_lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/safetensors.h"
#include "nodes/testing/node_bench.h"

namespace veneer::nodes {
namespace {

using ::testing::HasSubstr;

class ApplyLora : public ::testing::Test {
 protected:
  ApplyLora() : checkpoint_(bench_.store->checkpoint("shapes-sd-tiny.safetensors")) {}

  using Tensors = std::vector<std::pair<std::string, Tensor>>;
  Tensors demo_layers(const std::string& prefix) const {
    const auto file = bench_.store->lora("style-night.safetensors");
    Tensors out;
    for (const auto& entry : file.entries()) {
      if (entry.name.starts_with(prefix)) out.emplace_back(entry.name, file.tensor(entry.name));
    }
    return out;
  }
  formats::ModelFile write(const Tensors& tensors) const {
    formats::write_safetensors(bench_.root() / "mine.safetensors", tensors);
    return formats::ModelFile::open(bench_.root() / "mine.safetensors");
  }
  static void add_layer(Tensors& tensors, const std::string& name, int64_t out, int64_t in) {
    tensors.emplace_back(name + ".lora_up.weight", Tensor::zeros({out, 4}, DType::f32));
    tensors.emplace_back(name + ".lora_down.weight", Tensor::zeros({4, in}, DType::f32));
  }

  NodeBench bench_;
  ModelStore::Checkpoint checkpoint_;
};

TEST_F(ApplyLora, UsesEveryLayerOfAFileThatFits) {
  const LoraResult result = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, bench_.store->lora("style-night.safetensors"), {1, 1});
  EXPECT_EQ(result.remark, "");
  EXPECT_NE(result.model->patcher.fingerprint(), checkpoint_.model->patcher.fingerprint());
  EXPECT_NE(result.clip->patcher.fingerprint(), checkpoint_.clip->patcher.fingerprint());
}

TEST_F(ApplyLora, LeavesTheOriginalsAsTheyWere) {
  const auto model = checkpoint_.model->patcher.fingerprint();
  const auto clip = checkpoint_.clip->patcher.fingerprint();
  apply_lora(&*checkpoint_.model, &*checkpoint_.clip, bench_.store->lora("style-night.safetensors"), {3, 3});
  EXPECT_EQ(checkpoint_.model->patcher.fingerprint(), model);
  EXPECT_EQ(checkpoint_.clip->patcher.fingerprint(), clip);
}

TEST_F(ApplyLora, StrengthsOfModelAndTextEncoderAreApart) {
  const auto file = bench_.store->lora("style-night.safetensors");
  const LoraResult a = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {1, 0.5});
  const LoraResult b = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {1, 0.6});
  EXPECT_EQ(a.model->patcher.fingerprint(), b.model->patcher.fingerprint());
  EXPECT_NE(a.clip->patcher.fingerprint(), b.clip->patcher.fingerprint());
}

TEST_F(ApplyLora, ToAModelAloneSkipsTextLayersInSilence) {
  const LoraResult result = apply_lora(&*checkpoint_.model, nullptr, bench_.store->lora("style-night.safetensors"), {1, 0});
  EXPECT_EQ(result.remark, "");
  EXPECT_TRUE(result.model);
  EXPECT_FALSE(result.clip);
}

TEST_F(ApplyLora, AStrengthOfZeroIsTheBase) {
  const auto file = bench_.store->lora("style-night.safetensors");
  const LoraResult model = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {1, 0});
  EXPECT_EQ(model.clip->patcher.fingerprint(), checkpoint_.clip->patcher.fingerprint());
  EXPECT_EQ(model.report.matched.size(), 141U) << "the account is of the file";
  const LoraResult clip = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {0, 1});
  EXPECT_EQ(clip.model->patcher.fingerprint(), checkpoint_.model->patcher.fingerprint());
}

// PEFT's names for the UNet and for the text encoder say nothing of which model they are of.
TEST_F(ApplyLora, ReadsPeftsNamesOfBothModels) {
  Tensors tensors;
  const auto add = [&](const std::string& layer, const char* adapter, int64_t out, int64_t in) {
    tensors.emplace_back("base_model.model." + layer + ".lora_A" + adapter + ".weight", Tensor::zeros({4, in}, DType::f32));
    tensors.emplace_back("base_model.model." + layer + ".lora_B" + adapter + ".weight", Tensor::zeros({out, 4}, DType::f32));
  };
  add("mid_block.attentions.0.transformer_blocks.0.attn1.to_q", "", 128, 128);
  add("unet.mid_block.attentions.0.transformer_blocks.0.attn1.to_k", ".default", 128, 128);
  add("text_model.encoder.layers.0.mlp.fc1", "", 512, 128);
  add("text_encoder.text_model.encoder.layers.1.mlp.fc1", ".default", 512, 128);
  const formats::ModelFile file = write(tensors);
  const LoraResult both = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {1, 1});
  EXPECT_EQ(both.remark, "");
  EXPECT_EQ(both.model->patcher.patches().size(), 2U);
  EXPECT_EQ(both.clip->patcher.patches().size(), 2U);
  EXPECT_EQ(apply_lora(&*checkpoint_.model, nullptr, file, {1, 1}).remark, "") << "layers of a text encoder that is not there";
}

TEST_F(ApplyLora, TellsOfLayersThatTheModelDoesNotKnow) {
  Tensors tensors = demo_layers("lora_te_");
  add_layer(tensors, "lora_unet_no_such_layer", 8, 8);
  const LoraResult result = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, write(tensors), {1, 1});
  EXPECT_THAT(result.remark, HasSubstr("1 not known to the model"));
  EXPECT_THAT(result.remark, HasSubstr("no_such_layer"));
  EXPECT_THAT(result.remark, HasSubstr("mine.safetensors"));
}

TEST_F(ApplyLora, TellsOfLayersOfAnotherShapeAndDoesNotUseThem) {
  Tensors tensors = demo_layers("lora_te_");
  add_layer(tensors, "lora_unet_input_blocks_3_1_transformer_blocks_0_attn2_to_k", 3, 5);
  const LoraResult result = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, write(tensors), {1, 1});
  EXPECT_THAT(result.remark, HasSubstr("1 of another shape"));
  EXPECT_THAT(result.remark, HasSubstr("attn2_to_k"));
  EXPECT_THAT(result.remark, HasSubstr("want [64, 128], got [3, 4]"));
  EXPECT_EQ(result.model->patcher.fingerprint(), checkpoint_.model->patcher.fingerprint());
}

TEST_F(ApplyLora, ReportsEveryLayer) {
  Tensors tensors = demo_layers("lora_te_");
  add_layer(tensors, "lora_unet_no_such_layer", 8, 8);
  const LoraResult result = apply_lora(&*checkpoint_.model, &*checkpoint_.clip, write(tensors), {1, 1});
  EXPECT_EQ(result.report.matched.size(), result.clip->patcher.patches().size());
  EXPECT_EQ(result.report.unused_layers, std::vector<std::string>{"lora_unet_no_such_layer"});
}

// A layer without its down factor is unused by the format's rules, and an error in the reference.
TEST_F(ApplyLora, ReadsTheFileAsTheRuntimesCompatibilitySays) {
  Tensors tensors = demo_layers("lora_te_");
  tensors.emplace_back("lora_unet_middle_block_1_proj_in.lora_up.weight", Tensor::zeros({128, 4}, DType::f32));
  const formats::ModelFile file = write(tensors);
  EXPECT_EQ(apply_lora(&*checkpoint_.model, &*checkpoint_.clip, file, {1, 1}).report.unused_layers.size(), 1U);

  const auto with_compat = [&](patch::PatchCompat compat) {
    variant::Runtime runtime = checkpoint_.model->patcher.runtime();
    runtime.compat = compat;
    ModelValue model = *checkpoint_.model;
    model.patcher = variant::ModelPatcher(model.patcher.model(), std::make_shared<const variant::Runtime>(runtime), DType::f32);
    return apply_lora(&model, &*checkpoint_.clip, file, {1, 1});
  };
  EXPECT_EQ(with_compat(patch::PatchCompat::standard).report.unused_layers.size(), 1U);
  EXPECT_THROW(with_compat(patch::PatchCompat::reference), Error);
}

TEST_F(ApplyLora, RefusesAFileOfWhichNothingMatches) {
  Tensors tensors;
  add_layer(tensors, "lora_unet_double_blocks_0_img_attn_qkv", 8, 8);
  try {
    apply_lora(&*checkpoint_.model, &*checkpoint_.clip, write(tensors), {1, 1});
    FAIL() << "accepted a file for another model";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("file")), HasSubstr("mine.safetensors"));
    EXPECT_EQ(error.find("file architecture"), "flux");
    EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr("sd1"));
  }
}

}  // namespace
}  // namespace veneer::nodes
