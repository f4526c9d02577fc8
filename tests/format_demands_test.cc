// What users ask of model files of other formats, through the engine: they load, draw what they should, and broken ones are told by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "compute/test_data.h"
#include "formats/testing/temp_directory.h"
#include "patch/kinds/values.h"
#include "support/test_paths.h"
#include "support/tiny_model.h"
#include "support/torch_file.h"
#include "tensor/convert.h"
#include "tensor/quantised_blocks.h"
#include "variant/model_patcher.h"
#include "veneer/engine.h"
#include "veneer/model_files.h"

namespace veneer::testing {
namespace {

using formats::ModelFile;
using variant::LoraApplyMode;
using variant::ModelPatcher;

constexpr const char* kModel = "shapes-sd-tiny.safetensors";

class FormatDemands : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_.path() / "models/checkpoints"); }

  static std::string demo() { return (demo_models() / "checkpoints" / kModel).string(); }
  std::string path(const std::string& name) const { return (folder_.path() / "models/checkpoints" / name).string(); }

  EngineOptions options() const {
    EngineOptions out;
    out.model_folders = {(folder_.path() / "models").string(), demo_models().string()};
    out.output_folder = (folder_.path() / "output").string();
    out.dtype = "f32";
    return out;
  }

  static TextToImage request(const std::string& model, const std::string& lora = "style-night.safetensors") {
    TextToImage out;
    out.model = model;
    out.prompt = "a yellow moon at night";
    out.cfg = 5;
    out.steps = 3;
    out.width = 64;
    out.height = 48;
    out.seed = 7;
    if (!lora.empty()) out.loras = {{lora, 0.8}};
    return out;
  }

  static std::vector<uint8_t> draw(Engine& engine, const TextToImage& wanted) {
    JobOptions job;
    job.keep_pixels = true;
    return engine.text_to_image(wanted, job).images.at(0).pixels.pixels;
  }

  static double mean_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
    double sum = 0;
    for (size_t i = 0; i < a.size(); ++i) sum += std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
    return sum / static_cast<double>(a.size());
  }

  formats::TempDirectory folder_;
};

TEST_F(FormatDemands, TheSameWeightsInAnotherFormatDrawTheSamePicture) {
  (void)folder_.write("models/checkpoints/demo.ckpt", torch_checkpoint(ModelFile::open(demo()), "my model"));
  convert_model({.source = path("demo.ckpt"), .target = path("demo.gguf")});
  const ModelFile gguf = ModelFile::open(path("demo.gguf"));
  EXPECT_EQ(gguf.metadata().at("general.architecture"), "sd1");
  convert_model({.source = path("demo.ckpt"), .target = path("again.safetensors"), .strip = true});
  (void)folder_.write("models/loras/night.ckpt", torch_checkpoint(ModelFile::open(demo_models() / "loras/style-night.safetensors")));
  Engine engine(options());
  const std::vector<uint8_t> want = draw(engine, request(kModel));
  EXPECT_EQ(draw(engine, request("demo.ckpt")), want);
  EXPECT_EQ(draw(engine, request("demo.gguf", "night.ckpt")), want);
  EXPECT_EQ(draw(engine, request("again.safetensors", "night.ckpt")), want);
  EXPECT_TRUE(engine.verify("demo.ckpt").ok());
  EXPECT_TRUE(engine.verify("demo.gguf").ok());
}

TEST_F(FormatDemands, FewerBitsDrawNearlyTheSamePictureWhereverLayersAre) {
  convert_model({.source = demo(), .target = path("q8.gguf"), .quantise = "q8_0"});
  convert_model({.source = demo(), .target = path("fp8.safetensors"), .quantise = "fp8_scaled"});
  Engine engine(options());
  EngineOptions streaming = options();
  streaming.no_resident_weights = true;
  Engine streamer(streaming);
  const std::vector<uint8_t> want = draw(engine, request(kModel));
  const double plain = mean_difference(want, draw(engine, request(kModel, "")));
  for (const char* model : {"q8.gguf", "fp8.safetensors"}) {
    const std::vector<uint8_t> got = draw(engine, request(model));
    EXPECT_NE(got, want) << model;
    EXPECT_LT(mean_difference(got, want), plain / 2) << model << ": it differs more than the adapter makes";
    EXPECT_EQ(draw(streamer, request(model)), got) << model;
    EXPECT_TRUE(engine.verify(model).ok()) << model;
  }
}

// github.com/Comfy-Org/ComfyUI/pull/10267 and others: a difference was lost in rounding, or added before the scale where the layer was streamed.
TEST(FormatDemandsOfLayers, ADifferenceIsAddedToTheTrueValueWhereverTheLayerIs) {
  constexpr int64_t kSize = 64;
  const Tensor stored = to_dtype(compute::random_tensor({kSize, kSize}, 1, 0, 256), DType::f8_e4m3fn).with_scale(0.001F);
  Tensor blocks = Tensor::empty({kSize, kSize}, DType::q8_0);
  quantise_blocks(DType::q8_0, compute::random_tensor({kSize, kSize}, 1, 0, 0.256F).floats(), blocks.mutable_bytes());
  for (const Tensor& weight : {stored, blocks}) {
    variant::ModuleTable table;
    table.add({.name = "layer", .kind = variant::ModuleKind::linear, .has_bias = false});
    const auto base = variant::BaseModel::create("toy", std::move(table), {{"layer.weight", weight}}, "toy");
    const Tensor x = compute::random_tensor({1, kSize}, 1, 0, 1);
    for (const size_t budget : {size_t{0}, residency::ResidentSet::kUnlimited}) {
      for (const LoraApplyMode mode : {LoraApplyMode::materialised, LoraApplyMode::on_demand, LoraApplyMode::branch}) {
        ModelPatcher patcher(base, runtime_with(budget, mode), DType::f32);
        patcher.add_patches({{"layer.weight", patch::make_diff(compute::random_tensor({kSize, kSize}, 1, 0, 0.1F))}}, 1);
        const auto view = patcher.open_view();
        compute::Context context;
        const Tensor y = view->linear(context, 0, x, {});
        for (const float sum : y.floats()) EXPECT_NEAR(sum / kSize, 0.356F, 1e-4F) << to_string(weight.dtype());
        const Tensor patched = patcher.patch_weight_to_device("layer.weight");
        EXPECT_EQ(patched.dtype(), DType::f32);
        EXPECT_NEAR(patched.floats()[0], 0.356F, 1e-4F);
        EXPECT_TRUE(same_bits(patcher.patch_weight_to_device("layer.weight"), patched));
      }
    }
    EXPECT_EQ(base->deep_copy()->content_fingerprint().hex(), base->content_fingerprint().hex());
  }
}

// github.com/leejet/stable-diffusion.cpp/issues/1396, github.com/Comfy-Org/ComfyUI/pull/15459: broken files ended the process or an unrelated node.
TEST_F(FormatDemands, ABrokenFileIsNamedAndTheNextRequestIsServed) {
  const std::string header = R"({"weight": {"dtype": "F64", "shape": [4], "data_offsets": [0, 16]}})";
  std::string bytes(1, static_cast<char>(header.size()));
  bytes += std::string(7, '\0') + header + std::string(16, '\0');
  ASSERT_EQ(bytes.size(), 91u);
  (void)folder_.write("models/checkpoints/91.safetensors", bytes);
  const std::string whole = formats::read_whole(demo());
  (void)folder_.write("models/checkpoints/half.safetensors", whole.substr(0, whole.size() / 2));
  (void)folder_.write("models/checkpoints/half.ckpt", torch_checkpoint(ModelFile::open(demo())).substr(0, whole.size() / 2));
  (void)folder_.write("models/checkpoints/empty.ckpt", "");
  (void)folder_.write("models/checkpoints/evil.ckpt", formats::read_whole(source_folder() / "tests/files/formats/os_system.ckpt"));
  Engine engine(options());
  const auto error_of = [&](const char* model) {
    try {
      (void)engine.text_to_image(request(model));
    } catch (const Error& error) {
      EXPECT_THAT(std::string(error.find("file")), ::testing::EndsWith(model)) << error.what();
      return error;
    }
    ADD_FAILURE() << model << " was loaded";
    return Error(ErrorCode::internal, "");
  };
  EXPECT_EQ(error_of("91.safetensors").find("tensor"), "weight");
  EXPECT_NE(error_of("half.safetensors").find("tensor"), "");
  EXPECT_THAT(error_of("half.ckpt").text(), ::testing::HasSubstr("truncated"));
  EXPECT_THAT(error_of("empty.ckpt").text(), ::testing::HasSubstr("truncated"));
  EXPECT_EQ(error_of("evil.ckpt").find("global"), "posix.system");
  EXPECT_FALSE(draw(engine, request(kModel)).empty());
}

}  // namespace
}  // namespace veneer::testing
