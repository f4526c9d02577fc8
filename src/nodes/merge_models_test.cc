#include "nodes/merge_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/testing/test_models.h"
#include "nodes/testing/node_bench.h"
#include "patch/kinds/values.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using ::testing::HasSubstr;

constexpr const char* kKey = "diffusion_model.middle_block.1.proj_in.weight";

variant::ModelPatcher unet(uint32_t seed, const models::UnetConfig& config = models::testing::tiny_unet_config()) {
  const models::Architecture architecture = models::Unet(config).architecture();
  return models::testing::variant_of(models::testing::base_of(architecture, models::testing::test_weights(architecture, seed)));
}

variant::ModelPatcher text_encoder(uint32_t seed) {
  const models::Architecture architecture = models::ClipTextModel(models::testing::tiny_clip_config()).architecture();
  return models::testing::variant_of(models::testing::base_of(architecture, models::testing::test_weights(architecture, seed)));
}

// W += 0.5 * something, under kKey.
variant::ModelPatcher with_adapter(const variant::ModelPatcher& model, uint32_t seed) {
  variant::ModelPatcher out = model.clone();
  out.add_patches({{kKey, patch::make_diff(compute::random_tensor(model.model()->weight(kKey).shape(), seed, 0.1F))}}, 0.5);
  return out;
}

// Every weight is a * first + b * second, where both are taken with their patches.
void expect_combination(const variant::ModelPatcher& merged, const variant::ModelPatcher& first, const variant::ModelPatcher& second, double a,
                        double b) {
  for (const auto& [key, weight] : first.model()->weights()) {
    const Tensor got = merged.patched_weight(key), w1 = first.patched_weight(key), w2 = second.patched_weight(key);
    for (size_t i = 0; i < got.floats().size(); ++i) {
      ASSERT_NEAR(got.floats()[i], a * double{w1.floats()[i]} + b * double{w2.floats()[i]}, 1e-6) << key << " " << i;
    }
  }
}

TEST(MergeModels, ARatioMixesBothModels) {
  const auto first = unet(1), second = unet(2);
  expect_combination(merge_unets(first, second, MergeWeights::mix(0.3)), first, second, 0.3, 0.7);
}

TEST(MergeModels, SumsAndDifferences) {
  const auto first = unet(1), second = unet(2);
  expect_combination(merge_unets(first, second, MergeWeights::sum()), first, second, 1, 1);
  expect_combination(merge_unets(first, second, MergeWeights::difference(1.5)), first, second, 1.5, -1.5);
}

TEST(MergeModels, BothModelsCountWithTheirPatches) {
  const auto first = with_adapter(unet(1), 11), second = with_adapter(unet(2), 12);
  expect_combination(merge_unets(first, second, MergeWeights::mix(0.3)), first, second, 0.3, 0.7);
}

TEST(MergeModels, AWeightThatAFunctionChangesCountsAsChanged) {
  const auto first = unet(1), plain = unet(2);
  auto second = plain.clone();
  const auto negate = [](const Tensor& weight) {
    Tensor out = weight.clone();
    for (float& v : out.mutable_floats()) v = -v;
    return out;
  };
  second.add_weight_wrapper(kKey, {fingerprint_of(std::as_bytes(std::span("negate"))), negate});
  const auto merged = merge_unets(first, second, MergeWeights::mix(0.3));
  expect_combination(merged, first, second, 0.3, 0.7);
  EXPECT_NE(merged.fingerprint(), merge_unets(first, plain, MergeWeights::mix(0.3)).fingerprint());
}

TEST(MergeModels, AMergeCanBeMergedAgain) {
  const auto first = unet(1), second = with_adapter(unet(2), 12), third = unet(3);
  const auto inner = merge_unets(second, third, MergeWeights::mix(0.5));
  const auto outer = merge_unets(first, inner, MergeWeights::mix(0.25));
  expect_combination(outer, first, inner, 0.25, 0.75);
}

TEST(MergeModels, TheOriginalsStayAsTheyWere) {
  const auto first = unet(1), second = unet(2);
  const Fingerprint before1 = first.fingerprint(), before2 = second.fingerprint();
  const auto merged = merge_unets(first, second, MergeWeights::mix(0.3));
  EXPECT_EQ(first.fingerprint(), before1);
  EXPECT_EQ(second.fingerprint(), before2);
  EXPECT_TRUE(merged.is_clone(first));
  EXPECT_NE(merged.fingerprint(), before1);
}

TEST(MergeModels, AllOfTheFirstIsTheFirst) {
  const auto first = unet(1);
  EXPECT_EQ(merge_unets(first, unet(2), MergeWeights::mix(1)).fingerprint(), first.fingerprint());
}

TEST(MergeModels, EqualMergesAreOneVariantAndOthersAreNot) {
  const auto first = unet(1), second = unet(2), third = unet(2);
  const auto print = [&](const variant::ModelPatcher& other, double ratio) {
    return merge_unets(first, other, MergeWeights::mix(ratio)).fingerprint();
  };
  EXPECT_EQ(print(second, 0.3), print(second, 0.3));
  EXPECT_NE(print(second, 0.3), print(second, 0.4));
  EXPECT_NE(print(second, 0.3), print(third, 0.3));  // another base, whatever its bytes
  EXPECT_NE(print(second, 0.3), print(with_adapter(second, 5), 0.3));
}

TEST(MergeModels, ReadNoWeight) {
  // The second model's bytes are nowhere, so that reading them would end the test.
  const models::Architecture architecture = models::Unet(models::testing::tiny_unet_config()).architecture();
  models::WeightMap nowhere;
  const auto owner = std::make_shared<int>(0);
  for (const models::WeightSpec& spec : architecture.weights) {
    nowhere.emplace(spec.key, Tensor::view(spec.shape, DType::f32, reinterpret_cast<const void*>(uintptr_t{4096}), owner));
  }
  const auto second = models::testing::variant_of(models::testing::base_of(architecture, std::move(nowhere)));
  const auto first = unet(1);
  const auto merged = merge_unets(first, second, MergeWeights::mix(0.5));
  EXPECT_NE(merged.fingerprint(), first.fingerprint());
}

TEST(MergeModels, TheLongestPrefixOfABlockCounts) {
  const auto first = unet(1), second = unet(2);
  const std::vector<std::pair<std::string, double>> ratios = {
      {"time_embed.", 0.9}, {"input_blocks.1.", 0.2}, {"input", 0.1}, {"out", 0.4}, {"output_blocks.0.", 0.6}};
  const auto merged = merge_unet_blocks(first, second, ratios);
  const std::vector<std::pair<std::string, double>> expected = {{"input_blocks.1.0.in_layers.2.weight", 0.2},
                                                                {"input_blocks.0.0.weight", 0.1},
                                                                {"output_blocks.0.0.in_layers.2.weight", 0.6},
                                                                {"out.2.weight", 0.4},
                                                                {"time_embed.0.weight", 0.9},
                                                                {"middle_block.1.proj_in.weight", 0.9}};
  for (const auto& [name, ratio] : expected) {
    const std::string key = "diffusion_model." + name;
    const float got = merged.patched_weight(key).floats()[0];
    EXPECT_NEAR(got, ratio * double{first.patched_weight(key).floats()[0]} + (1 - ratio) * double{second.patched_weight(key).floats()[0]}, 1e-6)
        << key;
  }
}

TEST(MergeModels, TextEncodersMergeAllTheirWeights) {
  const auto first = text_encoder(1), second = text_encoder(2);
  expect_combination(merge_text_encoders(first, second, MergeWeights::mix(0.3)), first, second, 0.3, 0.7);
}

TEST(MergeModels, TextEncodersKeepWhatIsNotTrained) {
  const auto encoder = [](float value) {
    models::WeightMap weights;
    for (const char* key : {"clip_l.logit_scale", "clip_l.position_ids", "clip_l.x.weight"})
      weights.emplace(key, Tensor::from({1}, std::vector<float>{value}));
    return models::testing::variant_of(variant::BaseModel::create("clip_l", {}, std::move(weights), "test"));
  };
  const auto merged = merge_text_encoders(encoder(1), encoder(3), MergeWeights::mix(0.5));
  EXPECT_EQ(merged.patched_weight("clip_l.logit_scale").floats()[0], 1);
  EXPECT_EQ(merged.patched_weight("clip_l.position_ids").floats()[0], 1);
  EXPECT_EQ(merged.patched_weight("clip_l.x.weight").floats()[0], 2);
}

TEST(MergeModels, KeysOfOneModelAloneStay) {
  const auto first = unet(1), second = unet(2);
  models::WeightMap some;
  for (const auto& [key, weight] : second.model()->weights()) {
    if (key != kKey) some.emplace(key, weight);
  }
  some.emplace("diffusion_model.no.such.weight", Tensor::zeros({2}, DType::f32));
  const auto partial = models::testing::variant_of(variant::BaseModel::create("test", {}, std::move(some), "test"));
  const auto merged = merge_unets(first, partial, MergeWeights::mix(0.5));
  EXPECT_TRUE(merged.key_patches(kKey).empty());
  EXPECT_FALSE(merged.key_patches("diffusion_model.out.2.weight").empty());
}

TEST(MergeModels, AnotherShapeIsAnErrorThatNamesKeyWantAndGot) {
  models::UnetConfig wide = models::testing::tiny_unet_config();
  wide.context_dim = 48;
  try {
    merge_unets(unet(1), unet(2, wide), MergeWeights::mix(0.5));
    FAIL() << "merged models of different shapes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("key")), HasSubstr("attn2"));
    EXPECT_THAT(std::string(error.find("want")), HasSubstr("24"));
    EXPECT_THAT(std::string(error.find("got")), HasSubstr("48"));
  }
}

TEST(MergeModels, ModelsWithoutACommonWeightAreAnError) {
  try {
    merge_variants(unet(1), text_encoder(2), "", [](std::string_view) { return MergeWeights::mix(0.5); });
    FAIL() << "merged a text encoder into a UNet";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
  }
}

class MergeNodes : public ::testing::Test {
 protected:
  graph::Value number(double value) { return graph::Value::json(graph::Json(value)); }
  graph::Value model(uint32_t seed) {
    ModelValue value = *checkpoint_.model;
    value.patcher = with_adapter(value.patcher, seed);
    return graph::Value::of("MODEL", std::move(value));
  }

  NodeBench bench_;
  ModelStore::Checkpoint checkpoint_ = bench_.store->checkpoint("shapes-sd-tiny.safetensors");
};

TEST_F(MergeNodes, GiveTheMergeOfTheirInputs) {
  const graph::Value first = model(1), second = model(2);
  const auto& p1 = first.get<ModelValue>().patcher;
  const auto& p2 = second.get<ModelValue>().patcher;
  const auto merged = [&](const char* node, const char* input, double value) {
    return bench_.run(node, {{"model1", first}, {"model2", second}, {input, number(value)}})[0].get<ModelValue>().patcher.fingerprint();
  };
  EXPECT_EQ(merged("ModelMergeSimple", "ratio", 0.3), merge_unets(p1, p2, MergeWeights::mix(0.3)).fingerprint());
  EXPECT_EQ(merged("ModelMergeSubtract", "multiplier", 2), merge_unets(p1, p2, MergeWeights::difference(2)).fingerprint());
  EXPECT_EQ(merged("ModelMergeAdd", "", 0), merge_unets(p1, p2, MergeWeights::sum()).fingerprint());
  for (const char* node : {"ModelMergeSD1", "ModelMergeSD2"}) {
    const std::vector<std::pair<std::string, double>> ratios = {{"", 1.0}, {"middle_block.1.", 0.25}};
    EXPECT_EQ(merged(node, "middle_block.1.", 0.25), merge_unet_blocks(p1, p2, ratios).fingerprint()) << node;
  }
  const std::vector<std::pair<std::string, double>> ratios = {{"input", 1.0}, {"middle", 0.25}};
  EXPECT_EQ(merged("ModelMergeBlocks", "middle", 0.25), merge_unet_blocks(p1, p2, ratios).fingerprint());
}

TEST_F(MergeNodes, MergeTextEncoders) {
  const graph::Value clip = graph::Value::of("CLIP", *checkpoint_.clip);
  const auto& patcher = checkpoint_.clip->patcher;
  const auto merged = [&](const char* node, const char* input, double value) {
    return bench_.run(node, {{"clip1", clip}, {"clip2", clip}, {input, number(value)}})[0].get<ClipValue>().patcher.fingerprint();
  };
  EXPECT_EQ(merged("CLIPMergeSimple", "ratio", 0.3), merge_text_encoders(patcher, patcher, MergeWeights::mix(0.3)).fingerprint());
  EXPECT_EQ(merged("CLIPMergeSubtract", "multiplier", 2), merge_text_encoders(patcher, patcher, MergeWeights::difference(2)).fingerprint());
  EXPECT_EQ(merged("CLIPMergeAdd", "", 0), merge_text_encoders(patcher, patcher, MergeWeights::sum()).fingerprint());
}

TEST_F(MergeNodes, NameTheInputThatDoesNotFit) {
  ModelValue other = *checkpoint_.model;
  models::UnetConfig config = models::testing::tiny_unet_config();
  other.patcher = unet(1, config);
  const Error error =
      bench_.error_of("ModelMergeSimple", {{"model1", model(1)}, {"model2", graph::Value::of("MODEL", std::move(other))}, {"ratio", number(0.5)}});
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("input"), "model2");
  EXPECT_FALSE(error.find("key").empty());
}

TEST_F(MergeNodes, StopAtTooManyMergesInsideOfEachOther) {
  graph::Value merged = model(1);
  const graph::Value first = model(2);
  Error error(ErrorCode::internal, "no error");
  for (int i = 0; i < 100 && error.code() == ErrorCode::internal; ++i) {
    const NodeBench::Values inputs = {{"model1", first}, {"model2", merged}, {"ratio", number(0.5)}};
    error = bench_.error_of("ModelMergeSimple", inputs);
    if (error.code() == ErrorCode::internal) merged = bench_.run("ModelMergeSimple", inputs)[0];
  }
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_THAT(error.text(), HasSubstr("too many merges"));
}

}  // namespace
}  // namespace veneer::nodes
