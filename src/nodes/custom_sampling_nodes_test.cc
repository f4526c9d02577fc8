#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nodes/model_tracking.h"
#include "nodes/testing/node_bench.h"
#include "nodes/values.h"

namespace veneer::nodes {
namespace {

using graph::Value;
using ::testing::FloatNear;
using ::testing::Pointwise;

Value number(double value) { return Value::json(graph::Json(value)); }
Value integer(int64_t value) { return Value::json(graph::Json(value)); }

class CustomSampling : public ::testing::Test {
 protected:
  Value prompt(const char* words) { return bench_.run("CLIPTextEncode", {{"clip", loaded_[1]}, {"text", text(words)}})[0]; }

  NodeBench::Values prompts() { return {{"model", loaded_[0]}, {"positive", positive_}, {"negative", negative_}}; }

  // What KSampler draws with these settings besides.
  std::vector<float> ksampler(const NodeBench::Values& settings, const char* class_type = "KSampler", const char* seed = "seed") {
    NodeBench::Values in = prompts();
    in.insert(in.end(),
              {{seed, integer(5)}, {"steps", integer(3)}, {"sampler_name", text("euler")}, {"scheduler", text("normal")}, {"latent_image", latent_}});
    // The last of a name counts.
    for (const auto& [name, value] : settings) in.emplace_back(name, value);
    return samples(bench_.run(class_type, in)[0]);
  }

  // Both outputs of SamplerCustomAdvanced.
  std::vector<Value> custom(const Value& guider, double denoise = 1) {
    const Value sigmas =
        bench_.run("BasicScheduler", {{"model", loaded_[0]}, {"scheduler", text("normal")}, {"steps", integer(3)}, {"denoise", number(denoise)}})[0];
    return bench_.run("SamplerCustomAdvanced", {{"noise", noise_},
                                                {"guider", guider},
                                                {"sampler", bench_.run("KSamplerSelect", {{"sampler_name", text("euler")}})[0]},
                                                {"sigmas", sigmas},
                                                {"latent_image", latent_}});
  }

  static std::vector<float> samples(const Value& latent) {
    const auto floats = latent.get<sampling::Latent>().samples.floats();
    return {floats.begin(), floats.end()};
  }

  NodeBench bench_;
  std::vector<Value> loaded_ = bench_.run("CheckpointLoaderSimple", {{"ckpt_name", text("shapes-sd-tiny.safetensors")}});
  Value positive_ = prompt("a yellow moon at night");
  Value negative_ = prompt("a red circle");
  Value empty_ = prompt("");
  Value latent_ = bench_.run("EmptyLatentImage", {{"width", integer(64)}, {"height", integer(64)}, {"batch_size", integer(1)}})[0];
  Value noise_ = bench_.run("RandomNoise", {{"noise_seed", integer(5)}})[0];
};

TEST_F(CustomSampling, WithTheCfgGuiderIsKSampler) {
  NodeBench::Values in = prompts();
  in.emplace_back("cfg", number(4));
  const std::vector<Value> out = custom(bench_.run("CFGGuider", in)[0]);
  EXPECT_EQ(samples(out[0]), ksampler({{"cfg", number(4)}}));
  // Euler's last step ends where the prediction is.
  EXPECT_THAT(samples(out[1]), Pointwise(FloatNear(1e-3F), samples(out[0])));
}

TEST_F(CustomSampling, WithTheBasicGuiderIsKSamplerWithoutGuidance) {
  const Value guider = bench_.run("BasicGuider", {{"model", loaded_[0]}, {"conditioning", positive_}})[0];
  EXPECT_EQ(samples(custom(guider)[0]), ksampler({{"cfg", number(1)}}));
}

TEST_F(CustomSampling, WithThePerpNegGuiderIsKSamplerOnAPerpNegModel) {
  for (const double cfg : {1.0, 4.0}) {
    NodeBench::Values in = prompts();
    in.insert(in.end(), {{"cfg", number(cfg)}, {"empty_conditioning", empty_}, {"neg_scale", number(0.7)}});
    const auto guided = samples(custom(bench_.run("PerpNegGuider", in)[0])[0]);
    const Value model = bench_.run("PerpNeg", {{"model", loaded_[0]}, {"empty_conditioning", empty_}, {"neg_scale", number(0.7)}})[0];
    NodeBench::Values settings = {{"cfg", number(cfg)}, {"model", model}};
    EXPECT_EQ(guided, ksampler(settings)) << cfg;
    EXPECT_NE(guided, ksampler({{"cfg", number(cfg)}})) << cfg;
  }
}

TEST_F(CustomSampling, ThePerpNegGuiderNeedsAnEmptyPrompt) {
  NodeBench::Values in = prompts();
  in.emplace_back("empty_conditioning", Value::of("CONDITIONING", sampling::Conditioning()));
  const Error error = bench_.error_of("PerpNegGuider", in);
  EXPECT_EQ(error.code(), ErrorCode::invalid);
  EXPECT_EQ(error.find("input"), "empty_conditioning");
}

TEST_F(CustomSampling, WithoutNoiseItIsTheAdvancedSamplerWithout) {
  NodeBench::Values in = prompts();
  in.emplace_back("cfg", number(4));
  noise_ = bench_.run("DisableNoise", {})[0];
  const auto got = samples(custom(bench_.run("CFGGuider", in)[0])[0]);
  EXPECT_EQ(got, ksampler({{"cfg", number(4)}, {"add_noise", text("disable")}, {"return_with_leftover_noise", text("disable")}}, "KSamplerAdvanced",
                          "noise_seed"));
}

TEST_F(CustomSampling, TheSimplerNodeIsTheSame) {
  NodeBench::Values in = prompts();
  in.insert(in.end(), {{"cfg", number(4)},
                       {"noise_seed", integer(5)},
                       {"sampler", bench_.run("KSamplerSelect", {{"sampler_name", text("euler")}})[0]},
                       {"sigmas", bench_.run("BasicScheduler", {{"model", loaded_[0]}, {"scheduler", text("normal")}, {"steps", integer(3)}})[0]},
                       {"latent_image", latent_}});
  EXPECT_EQ(samples(bench_.run("SamplerCustom", in)[0]), ksampler({{"cfg", number(4)}}));
}

TEST_F(CustomSampling, WithoutNoiseLevelsTheLatentStays) {
  const Value guider = bench_.run("BasicGuider", {{"model", loaded_[0]}, {"conditioning", positive_}})[0];
  for (const Value& out : custom(guider, 0)) EXPECT_EQ(samples(out), samples(latent_));
}

TEST_F(CustomSampling, ContinuousEdmChangesTheModelsNoiseLevels) {
  const auto changed = [&](const char* sampling, double max, double min) {
    return bench_.run("ModelSamplingContinuousEDM",
                      {{"model", loaded_[0]}, {"sampling", text(sampling)}, {"sigma_max", number(max)}, {"sigma_min", number(min)}})[0];
  };
  const Value eps = changed("eps", 80, 0.002);
  const auto own = eps.get<ModelValue>().patcher.get_model_object<sampling::ModelSampling>(kModelSampling);
  EXPECT_NEAR(own->sigma_max(), 80.0F, 1e-3);
  EXPECT_EQ(own->prediction(), sampling::Prediction::eps);
  const auto fingerprint = [](const Value& model) { return model.get<ModelValue>().patcher.fingerprint(); };
  EXPECT_NE(fingerprint(eps), fingerprint(loaded_[0]));
  EXPECT_NE(fingerprint(eps), fingerprint(changed("eps", 81, 0.002)));
  EXPECT_NE(fingerprint(changed("edm", 80, 0.002)), fingerprint(changed("v_prediction", 80, 0.002)));
  EXPECT_NE(ksampler({{"cfg", number(1)}, {"model", eps}}), ksampler({{"cfg", number(1)}}));
}

TEST_F(CustomSampling, ContinuousEdmRefusesWhatItCannotDo) {
  for (const auto& [max, min] : {std::pair{1.0, 1.0}, std::pair{1.0, 2.0}, std::pair{1.0, 0.0}}) {
    const Error error = bench_.error_of("ModelSamplingContinuousEDM",
                                        {{"model", loaded_[0]}, {"sampling", text("edm")}, {"sigma_max", number(max)}, {"sigma_min", number(min)}});
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_EQ(error.find("input"), "sigma_max");
    EXPECT_EQ(error.find("allowed"), "0 < sigma_min < sigma_max");
  }
  for (const char* sampling : {"edm_playground_v2.5", "cosmos_rflow"}) {
    const Error error = bench_.error_of("ModelSamplingContinuousEDM", {{"model", loaded_[0]}, {"sampling", text(sampling)}});
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_EQ(error.find("value"), sampling);
  }
}

TEST_F(CustomSampling, TheModelOfAGuiderIsMarkedAsInUse) {
  NodeBench::Values in = prompts();
  in.emplace_back("cfg", number(4));
  const Value guider = bench_.run("CFGGuider", in)[0];
  const auto usage = std::make_shared<variant::ModelUsage>();
  const graph::ValueTracking tracking = track_models(usage, bench_.store, std::make_shared<VariantSwitches>());
  const auto& base = *loaded_[0].get<ModelValue>().patcher.model();
  {
    const auto prompt = tracking.start("p");
    EXPECT_FALSE(usage->uses(base));
    prompt->add(guider);
    EXPECT_TRUE(usage->uses(base));
  }
  EXPECT_FALSE(usage->uses(base));
}

}  // namespace
}  // namespace veneer::nodes
