#include "nodes/save_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "graph/json_text.h"
#include "models/family/checkpoint.h"
#include "models/testing/test_models.h"
#include "nodes/apply_lora.h"
#include "nodes/testing/node_bench.h"
#include "patch/kinds/values.h"
#include "tensor/convert.h"
#include "tensor/stochastic_rounding.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
}

class SaveModel : public ::testing::Test {
 protected:
  ModelStore::Checkpoint load(const std::string& name) { return bench_.store->checkpoint(name); }
  NodeBench::Values parts(const ModelStore::Checkpoint& loaded) {
    return {{"model", graph::Value::of("MODEL", *loaded.model)},
            {"clip", graph::Value::of("CLIP", *loaded.clip)},
            {"vae", graph::Value::of("VAE", *loaded.vae)}};
  }
  fs::path output(const std::string& name) const { return bench_.root() / "output" / name; }
  // Makes a saved file one that can be loaded by name.
  void adopt(const std::string& saved, const std::string& as) { fs::rename(output(saved), bench_.root() / "models" / as); }

  static void expect_same_weights(const variant::ModelPatcher& got, const variant::ModelPatcher& want) {
    ASSERT_EQ(got.model()->weights().size(), want.model()->weights().size());
    for (const auto& [key, weight] : want.model()->weights()) {
      EXPECT_EQ(got.model()->weight(key).dtype(), weight.dtype()) << key;
      EXPECT_TRUE(same_bytes(got.patched_weight(key), want.patched_weight(key))) << key;
    }
  }
  // A file of tensors that are written as they are.
  ModelFileRequest request(const std::string& prefix) const {
    ModelFileRequest out;
    out.folder = bench_.root() / "output";
    out.filename_prefix = prefix;
    Tensor tensor = Tensor::from({2}, std::vector<float>{1, 2});
    out.tensors = {{"x", DType::f32, tensor.shape(), [tensor] { return tensor; }}};
    return out;
  }
  size_t files_in_output() const {
    return static_cast<size_t>(std::distance(fs::recursive_directory_iterator(bench_.root() / "output"), fs::recursive_directory_iterator()));
  }

  NodeBench bench_;
};

TEST_F(SaveModel, ACheckpointLoadsAgainWithTheSameBytes) {
  const ModelStore::Checkpoint loaded = load(kModel);
  bench_.run("CheckpointSave", parts(loaded));
  adopt("checkpoints/ComfyUI_00001_.safetensors", "checkpoints/again.safetensors");
  const ModelStore::Checkpoint again = load("again.safetensors");
  expect_same_weights(again.model->patcher, loaded.model->patcher);
  expect_same_weights(again.clip->patcher, loaded.clip->patcher);
  expect_same_weights(again.vae->patcher, loaded.vae->patcher);
  const NodeBench::Values before = parts(loaded), after = parts(again);
  EXPECT_TRUE(same_bytes(bench_.draw(after[0].second, after[1].second), bench_.draw(before[0].second, before[1].second)));
}

TEST_F(SaveModel, HasTheNamesOfTheOriginalCheckpoint) {
  bench_.run("CheckpointSave", parts(load(kModel)));
  const auto original = formats::ModelFile::open(NodeBench::demo() / "checkpoints" / kModel);
  const auto saved = formats::ModelFile::open(output("checkpoints/ComfyUI_00001_.safetensors"));
  for (const auto& entry : saved.entries()) {
    ASSERT_TRUE(original.contains(entry.name)) << entry.name;
    EXPECT_TRUE(same_bytes(saved.tensor(entry.name), original.tensor(entry.name))) << entry.name;
    EXPECT_TRUE(saved.tensor(entry.name).aligned()) << entry.name;
  }
}

TEST_F(SaveModel, PatchesAreInTheSavedWeights) {
  const ModelStore::Checkpoint loaded = load(kModel);
  const LoraResult lora = apply_lora(&*loaded.model, &*loaded.clip, bench_.store->lora("style-night.safetensors"), {0.8, 0.6});
  ModelStore::Checkpoint patched = loaded;
  patched.model = lora.model;
  patched.clip = lora.clip;
  bench_.run("CheckpointSave", parts(patched));
  adopt("checkpoints/ComfyUI_00001_.safetensors", "checkpoints/baked.safetensors");
  const ModelStore::Checkpoint baked = load("baked.safetensors");
  for (const auto& [key, weight] : loaded.model->patcher.model()->weights()) {
    const Tensor want = to_dtype(patched.model->patcher.patched_weight(key), weight.dtype());
    EXPECT_TRUE(same_bytes(baked.model->patcher.model()->weight(key), want)) << key;
  }
  EXPECT_FALSE(lora.clip->patcher.patches().empty());
  for (const auto& [key, records] : lora.clip->patcher.patches()) {
    EXPECT_FALSE(same_bytes(baked.clip->patcher.patched_weight(key), loaded.clip->patcher.patched_weight(key))) << key;
  }
}

TEST_F(SaveModel, EveryDtypeIsKept) {
  const Tensor values = compute::random_tensor({16, 8}, 1, 0.3F), difference = compute::random_tensor({16, 8}, 2, 0.1F);
  models::WeightMap weights;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2}) {
    weights.emplace(std::string(to_string(dtype)) + ".weight", to_dtype(values, dtype));
  }
  variant::ModelPatcher model = models::testing::variant_of(variant::BaseModel::create("test", {}, weights, "test"));
  for (const auto& [key, weight] : weights) model.add_patches({{key, patch::make_diff(difference)}}, 1);
  for (const formats::TensorSource& source : weights_of(model, {"", ""})) {
    const DType dtype = weights.at(source.name).dtype();
    const bool fp8 = size_of(dtype) == 1;
    const Tensor exact = model.patched_weight(source.name), got = source.make();
    EXPECT_EQ(source.dtype, dtype);
    EXPECT_TRUE(same_bytes(got, fp8 ? stochastic_round(exact, dtype, string_to_seed(source.name)) : to_dtype(exact, dtype))) << source.name;
  }
}

TEST_F(SaveModel, ADiffusionModelAloneLoadsAsOneAndAsACheckpoint) {
  const ModelStore::Checkpoint loaded = load(kModel);
  bench_.run("ModelSave", {{"model", graph::Value::of("MODEL", *loaded.model)}});
  const fs::path saved = output("diffusion_models/ComfyUI_00001_.safetensors");
  fs::create_directories(bench_.root() / "models/diffusion_models");
  fs::copy_file(saved, bench_.root() / "models/diffusion_models/unet.safetensors");
  expect_same_weights(bench_.store->diffusion_model("unet.safetensors").patcher, loaded.model->patcher);
  fs::copy_file(saved, bench_.root() / "models/checkpoints/unet.safetensors");
  const ModelStore::Checkpoint again = load("unet.safetensors");
  expect_same_weights(again.model->patcher, loaded.model->patcher);
  EXPECT_FALSE(again.clip || again.vae);
}

TEST_F(SaveModel, ATextEncoderAloneLoadsAgain) {
  const ModelStore::Checkpoint loaded = load(kModel);
  bench_.run("CLIPSave", {{"clip", graph::Value::of("CLIP", *loaded.clip)}});
  const auto file = formats::ModelFile::open(output("clip/ComfyUI_clip_l_00001_.safetensors"));
  EXPECT_TRUE(file.contains("text_model.final_layer_norm.weight"));
  EXPECT_THAT(file.metadata(), UnorderedElementsAre(Pair("format", "pt")));
  const models::LoadedClip again = models::load_clip(models::tensors_of(file), "again");
  for (const auto& [key, weight] : loaded.clip->patcher.model()->weights()) EXPECT_TRUE(same_bytes(again.base->weight(key), weight)) << key;
}

TEST_F(SaveModel, AnAutoencoderAloneLoadsAgain) {
  const ModelStore::Checkpoint loaded = load(kModel);
  bench_.run("VAESave", {{"vae", graph::Value::of("VAE", *loaded.vae)}});
  adopt("vae/ComfyUI_vae_00001_.safetensors", "vae/again.safetensors");
  expect_same_weights(bench_.store->vae("again.safetensors").patcher, loaded.vae->patcher);
}

TEST_F(SaveModel, SaysWhatTheModelIs) {
  bench_.run("ModelSave", {{"model", graph::Value::of("MODEL", *load(kModel).model)}, {"filename_prefix", text("mine/red")}});
  const auto saved = formats::ModelFile::open(output("mine/red_00001_.safetensors"));
  EXPECT_THAT(saved.metadata(), UnorderedElementsAre(Pair("modelspec.sai_model_spec", "1.0.0"), Pair("modelspec.implementation", "sgm"),
                                                     Pair("modelspec.architecture", "stable-diffusion-v1"), Pair("modelspec.title", "red 1"),
                                                     Pair("modelspec.predict_key", "epsilon")));
}

TEST_F(SaveModel, TheRecipeIsInTheMetadata) {
  Metadata metadata;
  add_recipe(metadata, graph::Json{{"1", {{"class_type", "X"}}}}, graph::Json{{"workflow", {{"nodes", 3}}}});
  EXPECT_EQ(graph::Json::parse(metadata.at("prompt")), (graph::Json{{"1", {{"class_type", "X"}}}}));
  EXPECT_EQ(graph::Json::parse(metadata.at("workflow")), (graph::Json{{"nodes", 3}}));
  Metadata nothing;
  add_recipe(nothing, nullptr, nullptr);
  EXPECT_TRUE(nothing.empty());
}

TEST_F(SaveModel, CountsOnFromTheHighestNumber) {
  EXPECT_EQ(save_model_file(request("a/x")).filename(), "x_00001_.safetensors");
  std::ofstream(output("a/x_00041_.safetensors")) << "taken";
  EXPECT_EQ(save_model_file(request("a/x")).filename(), "x_00042_.safetensors");
}

TEST_F(SaveModel, EveryTensorIsAlignedForItsDtype) {
  ModelFileRequest mixed = request("x");
  Tensor odd = Tensor::zeros({3}, DType::f8_e4m3fn), half = Tensor::zeros({3}, DType::f16);
  mixed.tensors.insert(mixed.tensors.begin(), {"h", half.dtype(), half.shape(), [half] { return half; }});
  mixed.tensors.insert(mixed.tensors.begin(), {"o", odd.dtype(), odd.shape(), [odd] { return odd; }});
  const auto file = formats::ModelFile::open(save_model_file(std::move(mixed)));
  for (const auto& entry : file.entries()) EXPECT_TRUE(file.tensor(entry.name).aligned()) << entry.name;
}

TEST_F(SaveModel, ANameThatWasTakenMeanwhileIsLeftAlone) {
  ModelFileRequest mine = request("x");
  mine.progress = [&](size_t, size_t) { std::ofstream(output("x_00001_.safetensors")) << "another writer's"; };
  EXPECT_EQ(save_model_file(std::move(mine)).filename(), "x_00002_.safetensors");
  EXPECT_EQ(fs::file_size(output("x_00001_.safetensors")), 16U);
}

TEST_F(SaveModel, AnErrorOnTheWayLeavesNoFile) {
  ModelFileRequest broken = request("x");
  broken.tensors.push_back({"y", DType::f32, Shape({1}), []() -> Tensor { throw Error(ErrorCode::corrupt, "broken weight"); }});
  EXPECT_THROW(save_model_file(std::move(broken)), Error);
  ModelFileRequest cancelled = request("x");
  cancelled.progress = [](size_t, size_t) { throw Error(ErrorCode::cancelled, "cancelled"); };
  EXPECT_THROW(save_model_file(std::move(cancelled)), Error);
  EXPECT_EQ(files_in_output(), 0U);
}

TEST_F(SaveModel, APrefixStaysInTheOutputFolder) {
  fs::create_symlink(bench_.root() / "input", output("link"));
  const std::vector<std::string> prefixes = {"../x", "/etc/x", "a/../../x", "..\\x", "link/x", std::string("a\0b", 3)};
  for (const std::string& prefix : prefixes) {
    const Error error = bench_.error_of("VAESave", {{"vae", graph::Value::of("VAE", *load(kModel).vae)}, {"filename_prefix", text(prefix)}});
    EXPECT_EQ(error.code(), ErrorCode::invalid) << prefix;
    EXPECT_EQ(error.find("input"), "filename_prefix") << prefix;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(bench_.root() / "input"), fs::directory_iterator()), 0);
}

TEST_F(SaveModel, AFolderThatCannotBeMadeIsAnError) {
  std::ofstream(output("file")) << "not a folder";
  EXPECT_THROW(save_model_file(request("file/x")), Error);
  EXPECT_THROW(save_model_file(request(std::string(300, 'n'))), Error);
}

TEST_F(SaveModel, PartsOfAnotherFamilyAreRefused) {
  const ModelStore::Checkpoint loaded = load(kModel);
  const auto error_with = [&](const char* input, graph::Value value) {
    NodeBench::Values values = parts(loaded);
    values.emplace_back(input, std::move(value));
    return bench_.error_of("CheckpointSave", values);
  };
  ModelValue model = *loaded.model;
  const models::Architecture unet = models::Unet(models::testing::tiny_unet_config()).architecture();
  model.patcher = models::testing::variant_of(models::testing::base_of(unet, models::testing::test_weights(unet, 1)));
  EXPECT_EQ(error_with("model", graph::Value::of("MODEL", model)).code(), ErrorCode::unsupported);

  ClipValue clip = *loaded.clip;
  clip.patcher = model.patcher;
  EXPECT_EQ(error_with("clip", graph::Value::of("CLIP", clip)).find("input"), "clip");

  VaeValue vae = *loaded.vae;
  models::VaeConfig config = vae.network->config();
  config.latent_channels = 16;
  vae.network = std::make_shared<const models::Vae>(config);
  EXPECT_EQ(error_with("vae", graph::Value::of("VAE", vae)).find("input"), "vae");
  EXPECT_EQ(files_in_output(), 0U);
}

TEST_F(SaveModel, AnAutoencoderWithoutWeightsIsRefused) {
  VaeValue empty = *load(kModel).vae;
  empty.patcher = models::testing::variant_of(variant::BaseModel::create("vae", {}, {}, "test"));
  EXPECT_THAT(bench_.error_of("VAESave", {{"vae", graph::Value::of("VAE", empty)}}).text(), HasSubstr("no weights"));
  NodeBench::Values values = parts(load(kModel));
  values[2].second = graph::Value();
  EXPECT_EQ(bench_.error_of("CheckpointSave", values).find("input"), "vae");
}

}  // namespace
}  // namespace veneer::nodes
