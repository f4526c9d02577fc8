#include <gmock/gmock.h>

#include <thread>

#include "compute/test_data.h"
#include "models/testing/test_models.h"
#include "nodes/testing/node_bench.h"
#include "nodes/values.h"
#include "sampling/sample.h"

namespace veneer::nodes {
namespace {

using graph::Value;

Value number(double value) { return Value::json(graph::Json(value)); }
Value integer(int64_t value) { return Value::json(graph::Json(value)); }

// Each node that changes a model's options, with settings that do something at 128 by 128 pixels.
struct OptionCase {
  const char* class_type;
  NodeBench::Values settings = {};
  NodeBench::Values others = {};  // settings of another variant
};

void PrintTo(const OptionCase& option, std::ostream* out) { *out << option.class_type; }

// A network with self-attention at full resolution and at half of it, of made-up weights.
Value made_up_model(const NodeBench& bench) {
  models::UnetConfig config;
  config.model_channels = 32;
  config.levels = {{32, {1}, {1, 1}}, {64, {1}, {1, 1}}, {128, {0}, {0, 0}}};
  config.context_dim = 24;
  config.heads.heads = 4;
  auto network = std::make_shared<const models::Unet>(config);
  const auto own = std::make_shared<const sampling::ModelSampling>(sampling::ModelSampling::discrete(sampling::Prediction::eps));
  auto base = variant::BaseModel::create("test", network->architecture().table, models::testing::test_weights(network->architecture(), 5), "test",
                                         {{kModelSampling, variant::ModelObject::of(own->fingerprint(), own)}});
  return Value::of("MODEL", ModelValue{variant::ModelPatcher(std::move(base), bench.runtime, DType::f32), std::move(network), {}});
}

Value made_up_prompt(uint32_t seed) {
  sampling::ConditioningEntry entry;
  entry.context = compute::random_tensor(Shape{1, 5, 24}, seed);
  return Value::of("CONDITIONING", sampling::Conditioning{entry});
}

class OptionNodes : public ::testing::Test {
 protected:
  Value changed(const char* class_type, NodeBench::Values settings) {
    settings.emplace_back("model", model_);
    if (std::string_view(class_type) == "PerpNeg")
      settings.emplace_back("empty_conditioning", bench_.run("ConditioningZeroOut", {{"conditioning", positive_}})[0]);
    return bench_.run(class_type, settings)[0];
  }

  std::vector<float> sample(const Value& model, int64_t steps = 3, double cfg = 4) {
    const Value out = bench_.run("KSampler", {{"model", model},
                                              {"positive", positive_},
                                              {"negative", negative_},
                                              {"latent_image", latent_},
                                              {"seed", integer(5)},
                                              {"steps", integer(steps)},
                                              {"cfg", number(cfg)},
                                              {"sampler_name", text("euler")},
                                              {"scheduler", text("normal")}})[0];
    const auto samples = out.get<sampling::Latent>().samples.floats();
    return {samples.begin(), samples.end()};
  }

  static Fingerprint fingerprint(const Value& model) { return model.get<ModelValue>().patcher.fingerprint(); }

  NodeBench bench_;
  Value model_ = made_up_model(bench_);
  Value positive_ = made_up_prompt(1);
  Value negative_ = made_up_prompt(2);
  Value latent_ = bench_.run("EmptyLatentImage", {{"width", integer(128)}, {"height", integer(128)}, {"batch_size", integer(1)}})[0];
};

class EveryOptionNode : public OptionNodes, public ::testing::WithParamInterface<OptionCase> {};

TEST_P(EveryOptionNode, ChangesItsVariantAndNotTheBase) {
  const std::vector<float> base = sample(model_);
  const Fingerprint before = fingerprint(model_);
  const Value variant = changed(GetParam().class_type, GetParam().settings);
  const std::vector<float> first = sample(variant);
  EXPECT_NE(first, base);
  EXPECT_EQ(sample(variant), first) << "a second run";
  EXPECT_EQ(sample(model_), base) << "the base afterwards";
  EXPECT_EQ(fingerprint(model_), before);
}

TEST_P(EveryOptionNode, GivesTheSameInTwoRunsAtOnce) {
  const Value variant = changed(GetParam().class_type, GetParam().settings);
  const std::vector<float> want = sample(variant);
  std::vector<float> here;
  std::vector<float> there;
  std::thread other([&] { there = sample(variant); });
  here = sample(variant);
  other.join();
  EXPECT_EQ(here, want);
  EXPECT_EQ(there, want);
}

TEST_P(EveryOptionNode, IsKnownByItsSettings) {
  const Fingerprint id = fingerprint(changed(GetParam().class_type, GetParam().settings));
  EXPECT_EQ(fingerprint(changed(GetParam().class_type, GetParam().settings)), id);
  EXPECT_NE(fingerprint(changed(GetParam().class_type, GetParam().others)), id);
  EXPECT_NE(fingerprint(model_), id);
}

INSTANTIATE_TEST_SUITE_P(
    All, EveryOptionNode,
    ::testing::Values(OptionCase{"FreeU", {}, {{"b1", number(1.5)}}}, OptionCase{"FreeU_V2", {}, {{"s2", number(0.5)}}},
                      OptionCase{"RescaleCFG", {}, {{"multiplier", number(0.3)}}},
                      OptionCase{
                          "ModelSamplingDiscrete", {{"sampling", text("v_prediction")}}, {{"sampling", text("eps")}, {"zsnr", Value::json(true)}}},
                      OptionCase{"PatchModelAddDownscale",
                                 {{"downscale_method", text("bicubic")}, {"upscale_method", text("bislerp")}},
                                 {{"downscale_method", text("area")}, {"upscale_method", text("bislerp")}}},
                      OptionCase{"HyperTile", {{"tile_size", integer(64)}, {"swap_size", integer(4)}}, {{"tile_size", integer(64)}}},
                      OptionCase{"TomePatchModel", {{"ratio", number(0.6)}}, {}}, OptionCase{"SelfAttentionGuidance", {}, {{"scale", number(1)}}},
                      OptionCase{"PerturbedAttentionGuidance", {}, {{"scale", number(1)}}}, OptionCase{"PerpNeg", {}, {{"neg_scale", number(2)}}}),
    [](const auto& test) { return std::string(test.param.class_type); });

TEST_F(OptionNodes, AModelSamplingForEpsIsTheCheckpointsOwn) {
  const Value same = changed("ModelSamplingDiscrete", {{"sampling", text("eps")}});
  EXPECT_EQ(sample(same), sample(model_));
}

TEST_F(OptionNodes, AModelSamplingReplacesTheOneBeforeIt) {
  const auto sampling_of = [](const Value& model) {
    return model.get<ModelValue>().patcher.get_model_object<sampling::ModelSampling>(kModelSampling);
  };
  const Value base = model_;
  model_ = changed("ModelSamplingDiscrete", {{"sampling", text("lcm")}});
  EXPECT_EQ(sampling_of(model_)->prediction(), sampling::Prediction::lcm);
  EXPECT_EQ(sampling_of(model_)->sigmas().size(), 50U);
  model_ = changed("ModelSamplingDiscrete", {{"sampling", text("x0")}, {"zsnr", Value::json(true)}});
  EXPECT_EQ(sampling_of(model_)->prediction(), sampling::Prediction::x0);
  EXPECT_GT(sampling_of(model_)->sigma_max(), 4000);
  EXPECT_EQ(sampling_of(base)->prediction(), sampling::Prediction::eps);
}

TEST_F(OptionNodes, RescaledGuidanceOfScaleOneIsTheBase) {
  const std::vector<float> want = sample(model_, 2, 1);
  const std::vector<float> got = sample(changed("RescaleCFG", {}), 2, 1);
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3);
}

TEST_F(OptionNodes, SettingsThatDoNothingGiveTheBase) {
  const std::vector<float> want = sample(model_, 2);
  const auto expect_near = [&](const Value& model) {
    const std::vector<float> got = sample(model, 2);
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-3 + 1e-4 * static_cast<double>(std::abs(want[i])));
  };
  expect_near(changed("FreeU", {{"b1", number(1)}, {"b2", number(1)}, {"s1", number(1)}, {"s2", number(1)}}));
  expect_near(changed("FreeU_V2", {{"b1", number(1)}, {"b2", number(1)}, {"s1", number(1)}, {"s2", number(1)}}));
  expect_near(changed("RescaleCFG", {{"multiplier", number(0)}}));
  expect_near(
      changed("PatchModelAddDownscale", {{"downscale_factor", number(1)}, {"downscale_method", text("area")}, {"upscale_method", text("area")}}));
  expect_near(changed("HyperTile", {{"tile_size", integer(128)}}));
  expect_near(changed("TomePatchModel", {{"ratio", number(0)}}));
  expect_near(changed("SelfAttentionGuidance", {{"scale", number(0)}}));
  expect_near(changed("PerturbedAttentionGuidance", {{"scale", number(0)}}));
}

TEST_F(OptionNodes, AllOfThemWorkTogether) {
  for (const char* class_type :
       {"FreeU", "FreeU_V2", "RescaleCFG", "HyperTile", "TomePatchModel", "SelfAttentionGuidance", "PerturbedAttentionGuidance"}) {
    model_ = changed(class_type, {});
  }
  model_ = changed("PatchModelAddDownscale", {{"downscale_method", text("bicubic")}, {"upscale_method", text("bicubic")}});
  for (const float value : sample(model_, 2)) ASSERT_TRUE(std::isfinite(value));
}

TEST_F(OptionNodes, PerpNegRefusesAnEmptyConditioning) {
  const Error error = bench_.error_of("PerpNeg", {{"model", model_}, {"empty_conditioning", Value::of("CONDITIONING", sampling::Conditioning())}});
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("input"), "empty_conditioning");
}

}  // namespace
}  // namespace veneer::nodes
