// What users ask of adapter files, through the engine: everything in a file is accounted for, and an adapter holds from the first run on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "formats/model_file.h"
#include "formats/safetensors.h"
#include "formats/testing/temp_directory.h"
#include "support/test_paths.h"
#include "veneer/engine.h"
#include "veneer/error.h"

namespace veneer::testing {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";

class AdapterDemands : public ::testing::Test {
 protected:
  using Tensors = std::vector<std::pair<std::string, Tensor>>;

  void SetUp() override { std::filesystem::create_directories(folder_.path() / "models/loras"); }

  EngineOptions options(const std::string& mode = "auto") const {
    EngineOptions out;
    out.model_folders = {(folder_.path() / "models").string(), demo_models().string()};
    out.output_folder = (folder_.path() / "output").string();
    out.dtype = "f32";
    out.lora_apply_mode = mode;
    return out;
  }

  void write(const char* name, const Tensors& tensors) const { formats::write_safetensors(folder_.path() / "models/loras" / name, tensors); }

  // Tensors of the demo adapter whose names begin with `prefix`, of at most `layers` layers.
  static Tensors demo_tensors(const std::string& prefix, size_t layers = SIZE_MAX) {
    const auto whole = formats::ModelFile::open(demo_models() / "loras/style-night.safetensors");
    Tensors out;
    std::set<std::string> seen;
    for (const auto& entry : whole.entries()) {
      if (!entry.name.starts_with(prefix)) continue;
      const std::string layer = entry.name.substr(0, entry.name.find('.'));
      if (!seen.contains(layer) && seen.size() == layers) continue;
      seen.insert(layer);
      out.emplace_back(entry.name, whole.tensor(entry.name));
    }
    return out;
  }

  static TextToImage request(const std::vector<std::pair<std::string, double>>& loras) {
    TextToImage out;
    out.model = kModel;
    out.prompt = "a yellow moon at night";
    out.cfg = 5;
    out.steps = 2;
    out.width = 64;
    out.height = 48;
    out.seed = 7;
    out.loras = loras;
    return out;
  }

  static std::vector<uint8_t> draw(Engine& engine, const TextToImage& wanted, JobResult* whole = nullptr) {
    JobOptions job;
    job.keep_pixels = true;
    JobResult result = engine.text_to_image(wanted, job);
    if (whole != nullptr) *whole = result;
    return result.images.at(0).pixels.pixels;
  }

  formats::TempDirectory folder_;
};

// github.com/vladmandic/sdnext/pull/4005: the text was encoded before the adapter had reached the encoder.
TEST_F(AdapterDemands, AnAdapterOfTheTextEncoderHoldsFromTheFirstRunOnAndFollowsItsStrength) {
  write("text-only.safetensors", demo_tensors("lora_te_"));
  for (const char* mode : {"auto", "materialised", "branch", "on-demand"}) {
    SCOPED_TRACE(mode);
    Engine engine(options(mode));
    const auto first = draw(engine, request({{"text-only", 4}}));
    TextToImage other_seed = request({{"text-only", 4}});
    other_seed.seed = 8;
    draw(engine, other_seed);
    EXPECT_EQ(draw(engine, request({{"text-only", 4}})), first);
    // The diffusion model is the same one, so a difference comes by the conditioning alone, past the cache of encoded prompts.
    const auto weaker = draw(engine, request({{"text-only", 2}}));
    const auto base = draw(engine, request({}));
    EXPECT_NE(weaker, first);
    EXPECT_NE(base, first);
    EXPECT_NE(base, weaker);
    Engine fresh(options(mode));
    EXPECT_EQ(draw(fresh, request({{"text-only", 2}})), weaker);
  }
}

// Attention would read the rows that it knows and leave the others out: a picture of a part of the adapter.
TEST_F(AdapterDemands, AnAttentionWeightGrownToOtherRowsIsAnErrorOfItsKeyAndTheBaseStaysAsItWas) {
  for (const char* mode : {"auto", "materialised", "branch", "on-demand"}) {
    for (const std::string part : {"to_q", "to_k", "to_v"}) {
      SCOPED_TRACE(std::string(mode) + " " + part);
      const std::string layer = "lora_unet_middle_block_1_transformer_blocks_0_attn1_" + part;
      write("grown.safetensors", {{layer + ".lora_up.weight", Tensor::zeros({256, 1}, DType::f32)},
                                  {layer + ".lora_down.weight", Tensor::zeros({1, 128}, DType::f32)},
                                  {layer + ".reshape_weight", Tensor::from(Shape({2}), std::vector<float>{256, 128})}});
      Engine engine(options(mode));
      const auto base = draw(engine, request({}));
      try {
        draw(engine, request({{"grown", 1}}));
        ADD_FAILURE() << "a picture was drawn";
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("middle_block.1.transformer_blocks.0.attn1." + part + ".weight"));
        EXPECT_THAT(error.what(), HasSubstr("want=128"));
        EXPECT_THAT(error.what(), HasSubstr("got=256"));
        EXPECT_THAT(std::string(error.find("file")), HasSubstr("grown.safetensors"));
        EXPECT_THAT(std::string(error.find("tensor")), HasSubstr(layer + ".lora_up.weight"));
      }
      EXPECT_EQ(draw(engine, request({})), base);
    }
  }
}

// Every weight is finite, and what the network makes of it is not.
TEST_F(AdapterDemands, AnAdapterThatMakesTheNetworkOverflowIsNamedWithItsTensorAndKey) {
  const std::string of_model = "lora_unet_middle_block_1_transformer_blocks_0_attn1_to_v", of_text = "lora_te_text_model_encoder_layers_0_mlp_fc2";
  const auto whole = formats::ModelFile::open(demo_models() / "loras/style-night.safetensors");
  for (const std::string& layer : {of_model, of_text}) {
    Tensors tensors = demo_tensors("lora_");
    std::erase_if(tensors, [&](const auto& entry) { return entry.first.starts_with(layer + "."); });
    const auto ones = [](const Shape& shape) {
      Tensor out = Tensor::empty(shape, DType::f32);
      for (float& value : out.mutable_floats()) value = 1;
      return out;
    };
    tensors.emplace_back(layer + ".lora_up.weight", ones({whole.tensor(layer + ".lora_up.weight").dim(0), 1}));
    tensors.emplace_back(layer + ".lora_down.weight", ones({1, whole.tensor(layer + ".lora_down.weight").dim(1)}));
    tensors.emplace_back(layer + ".alpha", Tensor::from(Shape({1}), std::vector<float>{1e38F}));
    write("wild.safetensors", tensors);
    for (const char* mode : {"materialised", "branch"}) {
      SCOPED_TRACE(layer + " " + mode);
      Engine engine(options(mode));
      const auto base = draw(engine, request({}));
      try {
        draw(engine, request({{"style-outline", 0.5}, {"wild", 1}}));
        ADD_FAILURE() << "a picture was drawn";
      } catch (const Error& error) {
        EXPECT_THAT(std::string(error.find("file")), HasSubstr("wild.safetensors")) << error.what();
        EXPECT_THAT(std::string(error.find("tensor")), HasSubstr(layer + ".lora_up.weight")) << error.what();
        EXPECT_THAT(std::string(error.find("key")), HasSubstr(layer == of_model ? "attn1.to_v.weight" : "mlp.fc2.weight")) << error.what();
      }
      EXPECT_EQ(draw(engine, request({})), base);
    }
  }
}

// github.com/Comfy-Org/ComfyUI/issues/887 and github.com/invoke-ai/InvokeAI/issues/8415: hundreds of lines that nobody can weigh, or a bare
// assertion.
TEST_F(AdapterDemands, AFileThatFitsInPartIsUsedInPartAndEveryTensorIsAccountedFor) {
  Tensors tensors = demo_tensors("lora_unet_", 10);
  const auto add = [&](const std::string& name, const Shape& shape) { tensors.emplace_back(name, Tensor::zeros(shape, DType::f32)); };
  add("lora_unet_norm_out_linear.lora_up.weight", {8, 2});
  add("lora_unet_norm_out_linear.lora_down.weight", {2, 8});
  add("lora_unet_mid_block_attentions_0_transformer_blocks_0_attn1_to_nothing.alpha", Shape({1}));
  add("lora_unet_mid_block_attentions_0_proj_none.lora_up.weight", {8, 2});
  write("partly.safetensors", tensors);

  Engine engine(options());
  const VariantReport report = engine.describe({kModel, {{"partly", 1.0}}});
  const AdapterSummary& adapter = report.adapters.at(0);
  EXPECT_EQ(adapter.matched.size(), 10U);
  EXPECT_EQ(adapter.unused_layers.size(), 3U);
  EXPECT_EQ(adapter.unused_keys.size(), 4U);
  EXPECT_TRUE(adapter.mismatched.empty());
  EXPECT_EQ(report.parts.at(0).patched_keys.size(), 10U);

  JobResult result;
  const auto picture = draw(engine, request({{"partly", 1.0}}), &result);
  EXPECT_NE(picture, draw(engine, request({})));
  ASSERT_EQ(result.reports.size(), 1U);
  EXPECT_THAT(result.reports[0], HasSubstr("partly.safetensors: 10 layers used; 3 not known to the model"));
  // The rest of the file does no harm.
  write("whole.safetensors", demo_tensors("lora_unet_", 10));
  EXPECT_EQ(draw(engine, request({{"whole", 1.0}})), picture);
}

// A known layer that lacks its other half is no match either.
TEST_F(AdapterDemands, HalvesOfKnownLayersAreNotUsedAndListed) {
  Tensors tensors = demo_tensors("lora_unet_", 3);
  const std::string layer = tensors.back().first.substr(0, tensors.back().first.find('.'));
  std::erase_if(tensors, [&](const auto& entry) { return entry.first == layer + ".lora_down.weight"; });
  write("half.safetensors", tensors);
  const Engine engine(options());
  const VariantReport report = engine.describe({kModel, {{"half", 1.0}}});
  const AdapterSummary& adapter = report.adapters.at(0);
  EXPECT_EQ(adapter.matched.size(), 2U);
  EXPECT_EQ(adapter.unused_layers.size() + adapter.mismatched.size(), 1U);
}

TEST_F(AdapterDemands, AFileForAnotherModelIsAnErrorThatNamesItAndBothModels) {
  Tensors tensors;
  tensors.emplace_back("lora_unet_double_blocks_0_img_attn_qkv.lora_up.weight", Tensor::zeros({8, 4}, DType::f32));
  tensors.emplace_back("lora_unet_double_blocks_0_img_attn_qkv.lora_down.weight", Tensor::zeros({4, 8}, DType::f32));
  write("foreign.safetensors", tensors);
  Engine engine(options());
  for (const bool run : {true, false}) {
    try {
      if (run) {
        draw(engine, request({{"foreign", 1.0}}));
      } else {
        engine.describe({kModel, {{"foreign", 1.0}}});
      }
      FAIL() << "accepted an adapter of which nothing fits";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid);
      EXPECT_THAT(std::string(error.what()), HasSubstr("foreign.safetensors"));
      EXPECT_EQ(error.find("file architecture"), "flux");
      EXPECT_THAT(std::string(error.find("model architecture")), HasSubstr("sd1"));
    }
  }
}

}  // namespace
}  // namespace veneer::testing
