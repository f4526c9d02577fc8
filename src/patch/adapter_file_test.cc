#include "patch/adapter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "patch/testing/patch_testing.h"
#include "patch/working_weight.h"

namespace veneer::patch {
namespace {

using namespace testing;  // NOLINT: test helpers of this room
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kToQ = "diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q.weight";

// A model of twelve 8 x 6 weights with biases.
struct Model {
  KeyMap map;
  std::map<std::string, Shape, std::less<>> shapes;
  Model() {
    std::vector<std::string> keys;
    for (int i = 0; i < 12; ++i) {
      const std::string name = "diffusion_model.blocks." + std::to_string(i);
      shapes[name + ".weight"] = {8, 6};
      shapes[name + ".bias"] = {8};
    }
    for (const auto& [key, shape] : shapes) keys.push_back(key);
    add_unet_keys(map, keys, {});
  }
  ShapeOf shape_of() const {
    return [this](std::string_view key) -> std::optional<Shape> {
      const auto it = shapes.find(key);
      return it == shapes.end() ? std::nullopt : std::optional(it->second);
    };
  }
  AdapterReport load(const AdapterTensors& file, PatchCompat compat = PatchCompat::standard) const {
    return load_adapter(file, map, shape_of(), {compat});
  }
};

void add_pair(AdapterTensors& file, const std::string& layer, int64_t out = 8, int64_t in = 6, int64_t rank = 2) {
  file[layer + ".lora_up.weight"] = random_tensor({out, rank}, 1);
  file[layer + ".lora_down.weight"] = random_tensor({rank, in}, 2);
}

TEST(AdapterFile, ReportsWhatWasUsedAndWhatNot) {
  AdapterTensors file;
  for (int i = 0; i < 10; ++i) add_pair(file, "lora_unet_blocks_" + std::to_string(i));
  add_pair(file, "norm_out.linear");
  file["lora_unet_blocks_10.alpha"] = scalar_tensor(1);
  file["lora_unet_blocks_11.lora_up.weight"] = random_tensor({8, 2}, 3);
  const AdapterReport report = Model().load(file);
  EXPECT_THAT(report.matched, SizeIs(10));
  EXPECT_THAT(report.patches, SizeIs(10));
  EXPECT_THAT(report.unused_layers, ElementsAre("lora_unet_blocks_10", "lora_unet_blocks_11", "norm_out.linear"));
  EXPECT_THAT(report.unused_keys, ElementsAre("lora_unet_blocks_10.alpha", "lora_unet_blocks_11.lora_up.weight", "norm_out.linear.lora_down.weight",
                                              "norm_out.linear.lora_up.weight"));
  EXPECT_THAT(report.mismatched, IsEmpty());
}

TEST(AdapterFile, ReferenceModeRefusesALayerWithoutItsDownFactor) {
  AdapterTensors file;
  file["lora_unet_blocks_1.lora_up.weight"] = random_tensor({8, 2}, 3);
  try {
    (void)load_adapter(file, Model().map, {}, {PatchCompat::reference, "half.safetensors"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.find("tensor"), "lora_unet_blocks_1.lora_down.weight");
    EXPECT_EQ(error.find("file"), "half.safetensors");
  }
}

TEST(AdapterFile, AShapeThatDoesNotFitIsListedWithWantAndGot) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_0");
  add_pair(file, "lora_unet_blocks_1", 8, 7);
  const AdapterReport report = Model().load(file);
  EXPECT_THAT(report.patches, SizeIs(1));
  ASSERT_THAT(report.mismatched, SizeIs(1));
  EXPECT_EQ(report.mismatched[0].key, "diffusion_model.blocks.1.weight");
  EXPECT_EQ(report.mismatched[0].want, "[8, 6]");
  EXPECT_THAT(report.mismatched[0].got, HasSubstr("[2, 7]"));
  EXPECT_THAT(report.unused_keys, IsEmpty());
}

TEST(AdapterFile, HostileFactorsAreListedAndNeverUsed) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor up = random_tensor({8, 2}, 1), down = random_tensor({2, 6}, 2), odd = random_tensor({3, 6}, 3);
  const auto lora = [](const Tensor& a, const Tensor& b) {
    return file_with({{".lora_up.weight", a}, {".lora_down.weight", b}}, "lora_unet_blocks_1");
  };
  std::vector<AdapterTensors> files;
  files.push_back(lora(up, odd));                                                               // ranks differ
  files.push_back(lora(Tensor::zeros({8, 0}, DType::f32), Tensor::zeros({0, 6}, DType::f32)));  // rank 0
  files.push_back(lora(Tensor::zeros({}, DType::f32), down));                                   // scalars
  files.push_back(lora(random_tensor({16}, 4), random_tensor({12}, 5)));                        // vectors
  for (const float alpha : {inf, -inf, std::nanf("")}) {
    files.push_back(lora(up, down));
    files.back()["lora_unet_blocks_1.alpha"] = scalar_tensor(alpha);
  }
  files.push_back(lora(up, down));
  files.back()["lora_unet_blocks_1.alpha"] = random_tensor({2}, 6);
  files.push_back(lora(up, down));
  files.back()["lora_unet_blocks_1.reshape_weight"] = tensor({2}, {1e30F, -4});
  files.push_back(lora(up, down));
  files.back()["lora_unet_blocks_1.lora_mid.weight"] = random_tensor({2, 5, 3, 3}, 7);
  files.push_back(file_with({{".hada_w1_a", up}, {".hada_w1_b", down}, {".hada_w2_a", up}, {".hada_w2_b", odd}}, "lora_unet_blocks_1"));
  files.push_back(file_with({{".lokr_w1", random_tensor({4}, 1)}, {".lokr_w2", random_tensor({2, 6}, 1)}}, "lora_unet_blocks_1"));
  files.push_back(file_with({{".oft_blocks", random_tensor({2, 4, 3}, 1)}}, "lora_unet_blocks_1"));
  files.push_back(file_with({{".oft_blocks", Tensor::zeros({0, 4, 4}, DType::f32)}}, "lora_unet_blocks_1"));
  files.push_back(file_with({{".oft_blocks", random_tensor({1, 2, 3, 3}, 1)}}, "lora_unet_blocks_1"));
  files.push_back(file_with({{".diff", random_tensor({6, 8}, 1)}}, "lora_unet_blocks_1"));
  const Model model;
  for (size_t i = 0; i < files.size(); ++i) {
    const AdapterReport report = model.load(files[i]);
    EXPECT_THAT(report.patches, IsEmpty()) << "file " << i;
    ASSERT_THAT(report.mismatched, SizeIs(1)) << "file " << i;
    // Each tensor is told once, by its name.
    EXPECT_THAT(report.unused_keys, IsEmpty()) << "file " << i;
    for (const auto& [name, tensor] : files[i]) EXPECT_THAT(report.mismatched[0].tensors, HasSubstr(name)) << "file " << i;
  }
}

TEST(AdapterFile, TensorsWithoutValuesAreRefusedByEveryKind) {
  const Tensor none = Tensor::zeros({0, 0}, DType::f32), none4 = Tensor::zeros({0, 0, 0, 0}, DType::f32);
  const std::vector<AdapterTensors> files = {
      file_with({{".hada_w1_a", none}, {".hada_w1_b", none}, {".hada_w2_a", none}, {".hada_w2_b", none}}, "lora_unet_blocks_1"),
      file_with({{".hada_w1_a", none}, {".hada_w1_b", none}, {".hada_w2_a", none}, {".hada_w2_b", none}, {".hada_t1", none4}, {".hada_t2", none4}},
                "lora_unet_blocks_1"),
      file_with({{".lokr_w1", none}, {".lokr_w2", none}}, "lora_unet_blocks_1"),
      file_with({{".lokr_w1_a", none}, {".lokr_w1_b", none}, {".lokr_w2_a", none}, {".lokr_w2_b", none}}, "lora_unet_blocks_1"),
      file_with({{".a1.weight", none}, {".a2.weight", none}, {".b1.weight", none}, {".b2.weight", none}}, "lora_unet_blocks_1"),
      file_with({{".oft_blocks", none4}}, "lora_unet_blocks_1"),
      file_with({{".set_weight", none}}, "lora_unet_blocks_1"),
  };
  for (const AdapterTensors& file : files) EXPECT_THAT(Model().load(file).patches, IsEmpty());
}

TEST(AdapterFile, TheLastKindOfALayerCountsAndTheOtherIsReported) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_1");
  file.merge(file_with({{".hada_w1_a", random_tensor({8, 2}, 1)},
                        {".hada_w1_b", random_tensor({2, 6}, 2)},
                        {".hada_w2_a", random_tensor({8, 2}, 3)},
                        {".hada_w2_b", random_tensor({2, 6}, 4)}},
                       "lora_unet_blocks_1"));
  const AdapterReport report = Model().load(file);
  ASSERT_THAT(report.matched, SizeIs(1));
  EXPECT_EQ(report.matched[0].kind, "loha");
  ASSERT_THAT(report.overridden, SizeIs(1));
  EXPECT_EQ(report.overridden[0].kind, "lora");
}

TEST(AdapterFile, BiasesComeBesideTheirWeight) {
  const AdapterTensors file = file_with({{".diff", random_tensor({8, 6}, 1)}, {".diff_b", random_tensor({8}, 2)}}, "lora_unet_blocks_1");
  const AdapterReport report = Model().load(file);
  EXPECT_TRUE(report.patches.contains("diffusion_model.blocks.1.weight"));
  EXPECT_TRUE(report.patches.contains("diffusion_model.blocks.1.bias"));
}

TEST(AdapterFile, ANameThatTheModelLacksIsReportedAsMissing) {
  KeyMap map;
  map.add("layer", "diffusion_model.gone.weight");
  const AdapterReport report = load_adapter(file_with({{".diff", random_tensor({8, 6}, 1)}}), map, Model().shape_of());
  EXPECT_THAT(report.patches, IsEmpty());
  EXPECT_THAT(report.missing_keys, ElementsAre("diffusion_model.gone.weight"));
}

TEST(AdapterFile, NoMatchNamesTheFileAndBothArchitectures) {
  AdapterTensors file;
  add_pair(file, "lora_te2_text_model_encoder_layers_0_mlp_fc1");
  const AdapterReport report = Model().load(file);
  EXPECT_THAT(report.patches, IsEmpty());
  const Error error = no_match_error("style.safetensors", report, "sd1");
  EXPECT_EQ(error.find("file"), "style.safetensors");
  EXPECT_EQ(error.find("file architecture"), "sdxl");
  EXPECT_EQ(error.find("model architecture"), "sd1");
}

TEST(AdapterFile, NoMatchNamesTheFirstTensorsAndTheRule) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_1", 8, 7);
  const Error misshapen = no_match_error("style.safetensors", Model().load(file), "sd1");
  EXPECT_THAT(std::string(misshapen.find("tensor")), HasSubstr("lora_unet_blocks_1.lora_down.weight [2, 7]"));
  EXPECT_EQ(misshapen.find("key"), "diffusion_model.blocks.1.weight");
  EXPECT_EQ(misshapen.find("want"), "[8, 6]");
  EXPECT_FALSE(misshapen.find("rule").empty());
  file = {};
  add_pair(file, "other");
  const Error unknown = no_match_error("style.safetensors", Model().load(file), "sd1");
  EXPECT_EQ(unknown.find("tensor"), "other.lora_down.weight");
  EXPECT_THAT(std::string(unknown.find("allowed")), HasSubstr("kohya"));
}

TEST(AdapterFile, ValuesKnowWhereTheyWereRead) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_1");
  AdapterOptions options;
  options.file_name = "style.safetensors";
  const Model model;
  const AdapterReport report = load_adapter(file, model.map, model.shape_of(), options);
  const PatchOrigin* origin = report.patches.at("diffusion_model.blocks.1.weight")->origin();
  ASSERT_NE(origin, nullptr);
  EXPECT_EQ(origin->file, "style.safetensors");
  EXPECT_EQ(origin->layer, "lora_unet_blocks_1");
  ASSERT_THAT(origin->tensors, SizeIs(2));
  EXPECT_EQ(origin->tensors[1].first, "lora_unet_blocks_1.lora_up.weight");
}

// A few kilobytes of rank 1 must not become gigabytes.
TEST(AdapterFile, AWeightGrowsToALimitAndNoFurther) {
  const auto grown = [](int64_t rows) {
    Tensor extents = Tensor::empty({2}, DType::i64);
    extents.mutable_data<int64_t>()[0] = rows;
    extents.mutable_data<int64_t>()[1] = 6;
    AdapterTensors file;
    add_pair(file, "lora_unet_blocks_1", rows, 6, 1);
    file["lora_unet_blocks_1.reshape_weight"] = extents;
    return file;
  };
  const int64_t most = most_grown_elements({8, 6}) / 6;
  for (const PatchCompat compat : {PatchCompat::standard, PatchCompat::reference}) {
    EXPECT_THAT(Model().load(grown(9), compat).patches, SizeIs(1));
    EXPECT_THAT(Model().load(grown(most), compat).patches, SizeIs(1));
    const AdapterReport report = Model().load(grown(most + 1), compat);
    EXPECT_THAT(report.patches, IsEmpty());
    ASSERT_THAT(report.mismatched, SizeIs(1));
    EXPECT_THAT(report.mismatched[0].reason, HasSubstr("limit: " + std::to_string(most_grown_elements({8, 6}))));
    EXPECT_EQ(report.mismatched[0].got, Shape({most + 1, 6}).to_string());
    EXPECT_THAT(report.mismatched[0].tensors, HasSubstr("lora_unet_blocks_1.reshape_weight"));
  }
}

TEST(AdapterFile, AReshapeThatIsNotTheFactorsProductIsDamage) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_1");
  file["lora_unet_blocks_1.reshape_weight"] = tensor({2}, {1048576, 1048576});
  const AdapterReport report = Model().load(file);
  EXPECT_THAT(report.patches, IsEmpty());
  ASSERT_THAT(report.mismatched, SizeIs(1));
  EXPECT_EQ(report.mismatched[0].got, "[1048576, 1048576]");
}

TEST(AdapterFile, WhatTheReferenceLeavesOutIsReported) {
  AdapterTensors file;
  add_pair(file, "lora_unet_blocks_0");
  add_pair(file, "lora_unet_blocks_1", 8, 7);
  file["lora_unet_blocks_2.oft_blocks"] = random_tensor({1, 2, 4, 4}, 1);  // BOFT without an alpha
  // As many elements as the weight: the reference takes it.
  add_pair(file, "lora_unet_blocks_3", 6, 8);
  const AdapterReport report = Model().load(file, PatchCompat::reference);
  EXPECT_THAT(report.patches, SizeIs(4));
  EXPECT_THAT(report.matched, SizeIs(2));
  EXPECT_THAT(report.mismatched, IsEmpty());
  ASSERT_THAT(report.left_out, SizeIs(2));
  EXPECT_EQ(report.left_out[0].key, "diffusion_model.blocks.1.weight");
  EXPECT_EQ(report.left_out[0].want, "[8, 6]");
  EXPECT_THAT(report.left_out[0].got, HasSubstr("[2, 7]"));
  EXPECT_THAT(report.left_out[1].reason, HasSubstr("alpha"));
  EXPECT_THAT(Model().load(file).left_out, IsEmpty());
}

TEST(AdapterFile, ReadsTheNamesThatPeftGivesToAWholeModel) {
  for (const char* suffix : {"", ".default"}) {
    const std::string layer = "base_model.model.diffusion_model.blocks.1";
    AdapterTensors file;
    file[layer + ".lora_A" + suffix + ".weight"] = random_tensor({2, 6}, 1);
    file[layer + ".lora_B" + suffix + ".weight"] = random_tensor({8, 2}, 2);
    const AdapterReport report = Model().load(file);
    ASSERT_THAT(report.matched, SizeIs(1));
    EXPECT_EQ(report.matched[0].layer, layer);
    EXPECT_EQ(report.matched[0].key, "diffusion_model.blocks.1.weight");
    EXPECT_THAT(Model().load(file, PatchCompat::reference).patches, IsEmpty());
  }
}

TEST(AdapterFile, GuessesTheArchitectureFromMetadataNamesAndExtents) {
  const auto guess = [](const char* name, const Shape& shape) { return guess_architecture({{name, Tensor::zeros(shape, DType::f32)}}, {}); };
  EXPECT_EQ(guess_architecture({}, {{"ss_base_model_version", "sdxl_base_v1-0"}}), "sdxl");
  EXPECT_EQ(guess_architecture({}, {{"modelspec.architecture", "stable-diffusion-v1/lora"}}), "sd1");
  EXPECT_EQ(guess("lora_unet_input_blocks_1_1_transformer_blocks_0_attn2_to_k.lora_down.weight", {4, 768}), "sd1");
  EXPECT_EQ(guess("lora_unet_input_blocks_1_1_transformer_blocks_0_attn2_to_k.lora_down.weight", {4, 1024}), "sd2");
  EXPECT_EQ(guess("transformer.single_transformer_blocks.3.attn.to_q.lora_A.weight", {4, 3072}), "flux");
  EXPECT_EQ(guess("something.else", {3}), "unknown");
}

TEST(KeyMap, KnowsTheSpellingsOfTrainers) {
  KeyMap map;
  const std::vector<std::string> keys = {std::string(kToQ), "diffusion_model.out.2.weight", "diffusion_model.out.2.bias"};
  const UnetLayout layout = {{1, 1}, {1, 0}, 1, {1, 1, 0, 0}};
  add_unet_keys(map, keys, layout);
  for (const char* name :
       {"lora_unet_input_blocks_1_1_transformer_blocks_0_attn1_to_q", "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q",
        "lycoris_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q", "diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q",
        "model.diffusion_model.input_blocks.1.1.transformer_blocks.0.attn1.to_q",
        "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.processor.to_q",
        "unet.down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q", "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_q"}) {
    const std::string* key = map.find(name);
    ASSERT_NE(key, nullptr) << name;
    EXPECT_EQ(*key, kToQ) << name;
  }
  EXPECT_EQ(*map.find("unet.conv_out"), "diffusion_model.out.2.weight");
  EXPECT_EQ(map.find("nothing"), nullptr);
}

TEST(KeyMap, TheSecondTextEncoderIsTe2OnlyBesideTheFirst) {
  const std::string g = "clip_g.transformer.text_model.encoder.layers.0.mlp.fc1.weight",
                    l = "clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.weight";
  KeyMap both, alone;
  add_clip_keys(both, std::vector<std::string>{g, l});
  add_clip_keys(alone, std::vector<std::string>{g});
  EXPECT_EQ(*both.find("lora_te2_text_model_encoder_layers_0_mlp_fc1"), g);
  EXPECT_EQ(*both.find("lora_te1_text_model_encoder_layers_0_mlp_fc1"), l);
  EXPECT_EQ(*alone.find("lora_te_text_model_encoder_layers_0_mlp_fc1"), g);
}

TEST(KeyMap, KnowsTheLayersOfATextEncoderAlone) {
  const std::string l = "clip_l.transformer.text_model.encoder.layers.0.mlp.fc1.weight";
  KeyMap standard, reference;
  add_clip_keys(standard, std::vector<std::string>{l});
  add_clip_keys(reference, std::vector<std::string>{l}, PatchCompat::reference);
  ASSERT_NE(standard.find("text_model.encoder.layers.0.mlp.fc1"), nullptr);
  EXPECT_EQ(*standard.find("text_model.encoder.layers.0.mlp.fc1"), l);
  EXPECT_EQ(reference.find("text_model.encoder.layers.0.mlp.fc1"), nullptr);
}

TEST(KeyMap, RefusesALayoutThatLacksDepths) {
  KeyMap map;
  EXPECT_THROW(add_unet_keys(map, {}, UnetLayout{{2}, {1}, 0, {1, 1, 1}}), Error);
  EXPECT_THROW(add_unet_keys(map, {}, UnetLayout{{-1}, {1}, 0, {1, 1, 1}}), Error);
}

}  // namespace
}  // namespace veneer::patch
