#include "nodes/extract_lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "models/testing/test_models.h"
#include "nodes/apply_lora.h"
#include "nodes/merge_models.h"
#include "nodes/testing/node_bench.h"
#include "patch/adapter_file.h"
#include "patch/kinds/values.h"
#include "tensor/convert.h"

namespace veneer::nodes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using Differences = std::map<std::string, patch::PatchValuePtr, std::less<>>;

// A base of one layer of each sort.
variant::ModelPatcher small_model(uint32_t seed) {
  const std::vector<std::pair<const char*, Shape>> shapes = {{"m.conv.weight", {80, 70, 3, 3}},
                                                             {"m.conv.bias", {80}},
                                                             {"m.point.weight", {8, 6, 1, 1}},
                                                             {"m.linear.weight", {60, 90}},
                                                             {"m.linear.bias", {60}},
                                                             {"m.norm.weight", {60}},
                                                             {"m.norm.bias", {60}},
                                                             {"m.still.weight", {9, 9}}};
  models::WeightMap weights;
  for (const auto& [key, shape] : shapes) weights.emplace(key, compute::random_tensor(shape, ++seed, 0.5F));
  return models::testing::variant_of(variant::BaseModel::create("test", {}, std::move(weights), "test"));
}

Tensor of_rank(const Shape& shape, int64_t rank, uint32_t seed) {
  const int64_t m = shape[0], n = shape.num_elements_from(1);
  const Tensor up = compute::random_tensor({m, rank}, seed, 0.1F), down = compute::random_tensor({rank, n}, seed + 1, 0.1F);
  Tensor out = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < rank; ++k) sum += double{up.data<float>()[i * rank + k]} * double{down.data<float>()[k * n + j]};
      out.mutable_data<float>()[i * n + j] = static_cast<float>(sum);
    }
  }
  return out;
}

// The model with a difference of rank 4 on everything but m.still.
variant::ModelPatcher adapted(const variant::ModelPatcher& model) {
  variant::ModelPatcher out = model.clone();
  Differences differences;
  uint32_t seed = 40;
  for (const auto& [key, weight] : model.model()->weights()) {
    if (!key.starts_with("m.still")) differences.emplace(key, patch::make_diff(of_rank(weight.shape(), 4, seed += 2)));
  }
  out.add_patches(differences, 1);
  return out;
}

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& source : tensors) names.push_back(source.name);
  return names;
}

// The differences that the tensors stand for when they are read as an adapter file.
Differences read_back(const Tensors& tensors, const variant::ModelPatcher& model) {
  patch::AdapterTensors file;
  for (const auto& source : tensors) file[source.name] = source.make();
  patch::KeyMap map;
  for (const auto& [key, weight] : model.model()->weights()) {
    if (key.ends_with(".weight")) map.add("f." + key.substr(2, key.size() - 9), key);
  }
  patch::AdapterReport report = patch::load_adapter(file, map, {});
  EXPECT_THAT(report.unused_layers, ElementsAre());
  return {report.patches.begin(), report.patches.end()};
}

double norm(const Tensor& tensor) {
  double sum = 0;
  for (const float v : tensor.floats()) sum += double{v} * double{v};
  return std::sqrt(sum);
}

// |got - want| / |want - base| of the weight under `key`.
double error_of(const variant::ModelPatcher& got, const variant::ModelPatcher& want, const std::string& key) {
  const Tensor a = got.patched_weight(key), b = want.patched_weight(key), base = want.model()->weight(key);
  Tensor rest = b.clone(), whole = b.clone();
  for (size_t i = 0; i < b.floats().size(); ++i) {
    rest.mutable_floats()[i] = a.floats()[i] - b.floats()[i];
    whole.mutable_floats()[i] = b.floats()[i] - base.floats()[i];
  }
  return norm(rest) / std::max(norm(whole), 1e-30);
}

TEST(ExtractLora, AnAdapterOfThatRankComesBack) {
  const auto base = small_model(1), model = adapted(base);
  const auto extracted = extract_adapter(model, "m.", "f.", {.rank = 4});
  auto rebuilt = base.clone();
  rebuilt.add_patches(read_back(extracted, base), 1);
  // f16 holds the factors to 2^-12.
  for (const auto& [key, weight] : base.model()->weights()) EXPECT_LT(error_of(rebuilt, model, key), 5e-4) << key;
}

TEST(ExtractLora, TheDifferenceOfTwoModelsIsTheSameAdapter) {
  const auto base = small_model(1), model = adapted(base);
  const auto difference = merge_variants(model, base, "", [](std::string_view) { return MergeWeights::difference(1); });
  const auto of_model = extract_adapter(model, "m.", "f.", {.rank = 4}), of_difference = extract_adapter(difference, "m.", "f.", {.rank = 4});
  ASSERT_EQ(names_of(of_difference), names_of(of_model));
  auto rebuilt = base.clone();
  rebuilt.add_patches(read_back(of_difference, base), 1);
  for (const auto& [key, weight] : base.model()->weights()) EXPECT_LT(error_of(rebuilt, model, key), 5e-4) << key;
}

TEST(ExtractLora, AMergeComesBackAsAnAdapterOfItsFirstModel) {
  const auto first = small_model(1), second = small_model(20);
  const auto merged = merge_variants(first, second, "", [](std::string_view) { return MergeWeights::mix(0.7); });
  auto rebuilt = first.clone();
  rebuilt.add_patches(read_back(extract_adapter(merged, "m.", "f.", {.kind = ExtractOptions::Kind::full_diff}), first), 1);
  for (const auto& [key, weight] : first.model()->weights()) EXPECT_LT(error_of(rebuilt, merged, key), 5e-4) << key;
}

TEST(ExtractLora, NamesAreThoseOfAdapterFiles) {
  const auto model = adapted(small_model(1));
  const std::vector<std::string> factors = {"f.conv.lora_up.weight",    "f.conv.lora_down.weight", "f.point.lora_up.weight",
                                            "f.point.lora_down.weight", "f.linear.lora_up.weight", "f.linear.lora_down.weight"};
  EXPECT_THAT(names_of(extract_adapter(model, "m.", "f.", {.rank = 2, .bias_diff = false})), ::testing::UnorderedElementsAreArray(factors));
  std::vector<std::string> with_biases = factors;
  for (const char* name : {"f.conv.diff_b", "f.linear.diff_b", "f.norm.diff", "f.norm.diff_b"}) with_biases.emplace_back(name);
  EXPECT_THAT(names_of(extract_adapter(model, "m.", "f.", {.rank = 2})), ::testing::UnorderedElementsAreArray(with_biases));
  EXPECT_THAT(names_of(extract_adapter(model, "m.", "f.", {.kind = ExtractOptions::Kind::full_diff, .bias_diff = false})),
              UnorderedElementsAre("f.conv.diff", "f.point.diff", "f.linear.diff", "f.norm.diff"));
}

TEST(ExtractLora, ConvolutionsKeepTheirKernelInTheFirstFactor) {
  const auto extracted = extract_adapter(adapted(small_model(1)), "m.conv", "f", {.rank = 2, .bias_diff = false});
  ASSERT_EQ(extracted.size(), 2U);
  EXPECT_EQ(extracted[0].shape, Shape({80, 2, 1, 1}));
  EXPECT_EQ(extracted[1].shape, Shape({2, 70, 3, 3}));
}

TEST(ExtractLora, TheRankEndsAtTheMatrix) {
  const auto extracted = extract_adapter(adapted(small_model(1)), "m.point", "f", {.rank = 4096});
  ASSERT_EQ(extracted.size(), 2U);
  EXPECT_EQ(extracted[0].shape, Shape({8, 6, 1, 1}));
  EXPECT_EQ(extracted[1].shape, Shape({6, 6, 1, 1}));
}

TEST(ExtractLora, AnUnchangedModelGivesNothing) {
  const auto base = small_model(1);
  EXPECT_TRUE(extract_adapter(base, "m.", "f.", {}).empty());
  const auto difference = merge_variants(base, base, "", [](std::string_view) { return MergeWeights::difference(1); });
  EXPECT_TRUE(extract_adapter(difference, "m.", "f.", {}).empty());
}

TEST(ExtractLora, ValuesThatHalfPrecisionCannotHoldStayInF32) {
  const auto base = small_model(1);
  const auto dtype_of = [&](float size) {
    auto model = base.clone();
    model.add_patches({{"m.linear.weight", patch::make_diff(compute::random_tensor({60, 90}, 3, size))}}, 1);
    const auto difference = merge_variants(model, base, "", [](std::string_view) { return MergeWeights::difference(1); });
    const auto extracted = extract_adapter(difference, "m.linear", "f", {.kind = ExtractOptions::Kind::full_diff, .bias_diff = false});
    return extracted.at(0).make().dtype();
  };
  EXPECT_EQ(dtype_of(0.1F), DType::f16);
  EXPECT_EQ(dtype_of(1e6F), DType::f32);
  EXPECT_EQ(dtype_of(1e-6F), DType::f32);
}

TEST(ExtractLora, WhatIsNeitherAModelNorADifferenceIsAnError) {
  const auto base = small_model(1);
  const auto sum = merge_variants(base, small_model(9), "", [](std::string_view) { return MergeWeights::sum(); });
  try {
    (void)extract_adapter(sum, "m.", "f.", {});
    FAIL() << "extracted from the sum of two models";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("key")), HasSubstr("m."));
  }
}

TEST(ExtractLora, ADifferenceThatIsNotFiniteIsAnError) {
  models::WeightMap weights = small_model(1).model()->weights();
  Tensor broken = weights.at("m.linear.weight").clone();
  broken.mutable_floats()[7] = std::numeric_limits<float>::quiet_NaN();
  weights["m.linear.weight"] = broken;
  const auto base = models::testing::variant_of(variant::BaseModel::create("test", {}, std::move(weights), "test"));
  EXPECT_THROW(extract_adapter(adapted(base), "m.linear", "f", {}), Error);
}

TEST(ExtractLora, AWeightOfAnotherShapeIsAnError) {
  auto model = small_model(1);
  model.add_patches({{"m.linear.weight", patch::make_diff(compute::random_tensor({60, 95}, 3, 0.1F), true)}}, 1);
  EXPECT_THROW(extract_adapter(model, "m.linear", "f", {}), Error);
}

class LoraSaveNode : public ::testing::Test {
 protected:
  graph::Value integer(int64_t value) { return graph::Value::json(graph::Json(value)); }
  graph::Value model_value(const ModelValue& value) { return graph::Value::of("MODEL", value); }
  graph::Value clip_value(const ClipValue& value) { return graph::Value::of("CLIP", value); }
  std::vector<graph::Value> with_lora(const std::string& name) {
    return bench_.run("LoraLoader", {{"model", model_value(*checkpoint_.model)}, {"clip", clip_value(*checkpoint_.clip)}, {"lora_name", text(name)}});
  }

  NodeBench bench_;
  ModelStore::Checkpoint checkpoint_ = bench_.store->checkpoint("shapes-sd-tiny.safetensors");
};

TEST_F(LoraSaveNode, ALoraExtractedFromTwoModelsDrawsThePictureOfTheOriginal) {
  const std::vector<graph::Value> original = with_lora("style-night.safetensors");
  const graph::Value model_diff = bench_.run("ModelMergeSubtract", {{"model1", original[0]}, {"model2", model_value(*checkpoint_.model)}})[0];
  const graph::Value clip_diff = bench_.run("CLIPMergeSubtract", {{"clip1", original[1]}, {"clip2", clip_value(*checkpoint_.clip)}})[0];
  bench_.run("LoraSave", {{"model_diff", model_diff}, {"text_encoder_diff", clip_diff}, {"rank", integer(16)}, {"lora_type", text("standard")}});
  std::filesystem::rename(bench_.root() / "output/loras/ComfyUI_extracted_lora_00001_.safetensors", bench_.root() / "models/loras/mine.safetensors");
  EXPECT_EQ(apply_lora(&*checkpoint_.model, &*checkpoint_.clip, bench_.store->lora("mine.safetensors"), {1, 1}).remark, "");

  const std::vector<graph::Value> again = with_lora("mine.safetensors");
  const Tensor want = bench_.draw(original[0], original[1]), got = bench_.draw(again[0], again[1]);
  const Tensor plain = bench_.draw(model_value(*checkpoint_.model), clip_value(*checkpoint_.clip));
  EXPECT_LT(compute::max_error(got, want), 0.01);
  EXPECT_GT(compute::max_error(plain, want), 0.1) << "the LoRA has no effect, so the comparison above says nothing";
}

TEST_F(LoraSaveNode, RefusesToSaveNothing) {
  EXPECT_THAT(bench_.error_of("LoraSave", {{"lora_type", text("standard")}}).text(), HasSubstr("connected"));
  const Error error = bench_.error_of("LoraSave", {{"lora_type", text("standard")}, {"model_diff", model_value(*checkpoint_.model)}});
  EXPECT_THAT(error.text(), HasSubstr("no difference"));
  EXPECT_EQ(error.find("input"), "model_diff");
  EXPECT_TRUE(std::filesystem::is_empty(bench_.root() / "output"));
}

}  // namespace
}  // namespace veneer::nodes
