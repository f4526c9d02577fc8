#include "models/family/checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "formats/safetensors.h"
#include "models/testing/test_models.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

// A UNet that fits the family's eight heads.
UnetConfig eight_heads() {
  UnetConfig config = testing::tiny_unet_config();
  config.heads.heads = 8;
  return config;
}

void add(WeightMap& to, const Architecture& architecture, const std::string& name, const std::string& prefix) {
  for (const auto& [key, tensor] : random_weights(architecture, DType::f16, 1)) to.emplace(prefix + key.substr(name.size()), tensor);
}

// A whole checkpoint, small.
const WeightMap& tiny_checkpoint() {
  static const WeightMap kTensors = [] {
    WeightMap out;
    add(out, Unet(eight_heads()).architecture(), "diffusion_model.", "model.diffusion_model.");
    add(out, Vae(testing::tiny_vae_config()).architecture(), "", "first_stage_model.");
    add(out, ClipTextModel(testing::tiny_clip_config()).architecture(), "clip_l.", "cond_stage_model.");
    return out;
  }();
  return kTensors;
}

template <typename Call>
Error failure(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::internal, "nothing was thrown");
}

TEST(Checkpoint, OfSd1IsTakenApartUnderTheNamesThatPatchesUse) {
  const LoadedCheckpoint checkpoint = load_checkpoint(tiny_checkpoint(), "tiny");
  EXPECT_EQ(checkpoint.family->name, "sd1");
  EXPECT_FLOAT_EQ(checkpoint.family->latent_scale, 0.18215F);
  EXPECT_EQ(checkpoint.unet.network->config(), eight_heads());
  EXPECT_TRUE(checkpoint.unet.base->has_key("diffusion_model.middle_block.1.proj_in.weight"));
  ASSERT_TRUE(checkpoint.vae.has_value());
  EXPECT_TRUE(checkpoint.vae->base->has_key("decoder.mid.attn_1.q.weight"));
  ASSERT_TRUE(checkpoint.clip.has_value());
  EXPECT_TRUE(checkpoint.clip->base->has_key("clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.weight"));
  EXPECT_TRUE(checkpoint.unused.empty());
}

TEST(Checkpoint, SharesItsTensorsWithTheFile) {
  const LoadedCheckpoint checkpoint = load_checkpoint(tiny_checkpoint(), "tiny");
  EXPECT_EQ(checkpoint.unet.base->weight("diffusion_model.out.2.weight").bytes(), tiny_checkpoint().at("model.diffusion_model.out.2.weight").bytes());
}

TEST(Checkpoint, PutsObjectsOfItsFamilyIntoTheSlotsOfTheUnet) {
  const auto object = std::make_shared<const int>(3);
  const ObjectsOf objects = [&](const FamilyDef& family) -> std::map<std::string, variant::ModelObject> {
    return {{std::string(family.prediction), variant::ModelObject::of(Fingerprint{1, 2}, object)}};
  };
  const LoadedCheckpoint loaded = load_checkpoint(tiny_checkpoint(), "file", objects);
  EXPECT_EQ(loaded.unet.base->objects().at("eps").as<int>(), object);
  EXPECT_TRUE(loaded.vae->base->objects().empty());
  EXPECT_TRUE(load_checkpoint(tiny_checkpoint(), "file").unet.base->objects().empty());
}

TEST(Checkpoint, ToleratesAndReportsWhatItDoesNotUse) {
  WeightMap tensors = tiny_checkpoint();
  for (const char* name : {"model_ema.decay", "alphas_cumprod", "cond_stage_model.transformer.text_model.embeddings.position_ids"}) {
    tensors.emplace(name, Tensor::zeros(Shape({2}), DType::i64));
  }
  const LoadedCheckpoint checkpoint = load_checkpoint(tensors, "tiny");
  EXPECT_THAT(checkpoint.unused,
              ::testing::ElementsAre("alphas_cumprod", "cond_stage_model.transformer.text_model.embeddings.position_ids", "model_ema.decay"));
}

TEST(Checkpoint, MayLackTextEncoderAndAutoencoder) {
  WeightMap tensors = tiny_checkpoint();
  std::erase_if(tensors, [](const auto& entry) { return !entry.first.starts_with("model."); });
  tensors.emplace("cond_stage_model.transformer.text_model.embeddings.position_ids", Tensor::zeros(Shape({1, 77}), DType::i64));
  const LoadedCheckpoint checkpoint = load_checkpoint(tensors, "tiny");
  EXPECT_FALSE(checkpoint.clip.has_value());
  EXPECT_FALSE(checkpoint.vae.has_value());
}

TEST(Checkpoint, NamesFileAndTensorWhicheverIsMissing) {
  for (const auto& [name, tensor] : tiny_checkpoint()) {
    WeightMap tensors = tiny_checkpoint();
    tensors.erase(name);
    const Error error = failure([&] { load_checkpoint(tensors, "tiny.safetensors"); });
    EXPECT_EQ(error.find("file"), "tiny.safetensors") << name << ": " << error.what();
    EXPECT_FALSE(error.find("tensor").empty()) << name << ": " << error.what();
  }
}

TEST(Checkpoint, NamesTensorWantedAndFoundShapeWhicheverIsWrong) {
  int named = 0;
  for (const auto& [name, tensor] : tiny_checkpoint()) {
    for (const Shape& shape : {Shape({3}), Shape({3, 3, 3, 3}), Shape({64, 0}), Shape()}) {
      if (shape == tensor.shape()) continue;
      WeightMap tensors = tiny_checkpoint();
      tensors[name] = Tensor::zeros(shape, DType::f16);
      const Error error = failure([&] { load_checkpoint(tensors, "tiny.safetensors"); });
      EXPECT_TRUE(error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported) << name << ": " << error.what();
      EXPECT_EQ(error.find("file"), "tiny.safetensors") << name;
      if (name.ends_with(error.find("tensor").substr(error.find("tensor").find('.') + 1)) && !error.find("want").empty()) ++named;
    }
  }
  // All but those that the measures are read from.
  EXPECT_GT(named, static_cast<int>(tiny_checkpoint().size()) * 4 * 9 / 10);
}

TEST(Checkpoint, RefusesPartsOfTheNetworkThatItDoesNotKnow) {
  for (const char* name :
       {"model.diffusion_model.middle_block.1.transformer_blocks.0.attn1.norm_q.weight", "first_stage_model.decoder.up.1.attn.0.q.weight",
        "cond_stage_model.transformer.text_model.encoder.layers.7.mlp.fc1.weight", "model.diffusion_model.output_blocks.9.0.in_layers.0.weight"}) {
    WeightMap tensors = tiny_checkpoint();
    tensors.emplace(name, Tensor::zeros(Shape({8, 8}), DType::f16));
    EXPECT_EQ(failure([&] { load_checkpoint(tensors, "file"); }).code(), ErrorCode::unsupported) << name;
  }
}

TEST(Checkpoint, RefusesIntegersAsWeights) {
  WeightMap tensors = tiny_checkpoint();
  tensors["model.diffusion_model.out.2.bias"] = Tensor::zeros(Shape({4}), DType::i32);
  const Error error = failure([&] { load_checkpoint(tensors, "tiny"); });
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_EQ(error.find("got"), "i32");
}

TEST(Checkpoint, SaysWhatAForeignFileLooksLike) {
  const std::pair<const char*, const char*> cases[] = {
      {"conditioner.embedders.0.transformer.text_model.final_layer_norm.weight", "a Stable Diffusion XL checkpoint"},
      {"cond_stage_model.model.transformer.resblocks.0.ln_1.weight", "a Stable Diffusion 2.x checkpoint"},
      {"model.diffusion_model.double_blocks.0.img_attn.proj.weight", "a Flux checkpoint"},
      {"model.diffusion_model.joint_blocks.0.x_block.attn.proj.weight", "a Stable Diffusion 3 checkpoint"},
      {"lora_unet_input_blocks_1_1_proj_in.lora_up.weight", "a LoRA"},
      {"down_blocks.0.resnets.0.conv1.weight", "a model in the diffusers layout"},
      {"something.else", "nothing known"},
  };
  for (const auto& [name, meaning] : cases) {
    WeightMap tensors;
    tensors.emplace(name, Tensor::zeros(Shape({2}), DType::f16));
    const Error error = failure([&] { load_checkpoint(tensors, "file"); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.find("looks_like"), meaning);
    EXPECT_EQ(error.find("supported"), "Stable Diffusion 1.x");
  }
}

TEST(Checkpoint, OfSdxlIsRefusedThoughItsUnetHasTheSameNames) {
  WeightMap tensors = tiny_checkpoint();
  tensors.emplace("model.diffusion_model.label_emb.0.0.weight", Tensor::zeros(Shape({128, 16}), DType::f16));
  EXPECT_EQ(failure([&] { load_checkpoint(tensors, "file"); }).code(), ErrorCode::unsupported);
}

TEST(Checkpoint, PartsAreLoadedAloneUnderAnyOfTheirPrefixes) {
  for (const char* prefix : {"model.diffusion_model.", "diffusion_model.", ""}) {
    WeightMap tensors;
    add(tensors, Unet(eight_heads()).architecture(), "diffusion_model.", prefix);
    EXPECT_EQ(load_unet(tensors, "file").network->config(), eight_heads()) << prefix;
  }
  for (const char* prefix : {"first_stage_model.", "vae.", ""}) {
    WeightMap tensors;
    add(tensors, Vae(testing::tiny_vae_config()).architecture(), "", prefix);
    EXPECT_EQ(load_vae(tensors, "file").network->config(), testing::tiny_vae_config()) << prefix;
  }
  EXPECT_EQ(load_clip(tiny_checkpoint(), "file").network->config().width, 64);
  EXPECT_EQ(failure([&] { load_vae(WeightMap(), "file"); }).find("want"), "an autoencoder");
  EXPECT_EQ(failure([&] { load_unet(WeightMap(), "file"); }).find("want"), "a UNet");
  EXPECT_EQ(failure([&] { load_clip(WeightMap(), "file"); }).find("want"), "a text encoder");
}

TEST(Checkpoint, IsReadFromAFileAndNotFromAPieceOfIt) {
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "veneer_tiny_checkpoint.safetensors";
  std::vector<std::pair<std::string, Tensor>> tensors(tiny_checkpoint().begin(), tiny_checkpoint().end());
  formats::write_safetensors(path, tensors);
  EXPECT_EQ(load_checkpoint(path).unet.network->config(), eight_heads());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_EQ(failure([&] { load_checkpoint(path); }).code(), ErrorCode::corrupt);
  std::filesystem::remove(path);
  EXPECT_EQ(failure([&] { load_checkpoint(path); }).code(), ErrorCode::not_found);
}

TEST(RandomWeights, KeepTheSizeOfActivationsAndRepeat) {
  ArchitectureBuilder builder("");
  builder.linear("a", 400, 300);
  builder.norm("b", 8);
  const Architecture architecture = builder.finish();
  const WeightMap weights = random_weights(architecture, DType::f32, 3);
  double square = 0;
  for (const float w : weights.at("a.weight").floats()) square += static_cast<double>(w) * static_cast<double>(w);
  EXPECT_NEAR(square / 300, 1, 0.05);
  EXPECT_THAT(weights.at("b.weight").floats(), ::testing::Each(1.0F));
  EXPECT_THAT(weights.at("a.bias").floats(), ::testing::Each(0.0F));
  EXPECT_EQ(compute::max_error(random_weights(architecture, DType::f32, 3).at("a.weight"), weights.at("a.weight")), 0);
  EXPECT_GT(compute::max_error(random_weights(architecture, DType::f32, 4).at("a.weight"), weights.at("a.weight")), 0.01);
}

}  // namespace
}  // namespace veneer::models
