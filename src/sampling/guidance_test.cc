#include "sampling/guidance.h"

#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Shape kLatent{1, 2, 3, 3};
constexpr float kSigma = 1.5F;

class Guidance : public ::testing::Test {
 protected:
  CfgDenoiser denoiser(double scale, GuidanceOptions options = {}) {
    return {GuidanceSetup{model_sampling_, painter(&log_), std::move(options), scale, cancel_}, {paint(1)}, {paint(0.5F)}, kLatent};
  }

  ModelSampling model_sampling_ = ModelSampling::discrete(Prediction::eps);
  NetworkLog log_;
  CancelToken cancel_;
  Tensor x_ = counting(kLatent);
};

auto all_near(float value) { return Each(FloatNear(value, 1e-4F)); }

TEST_F(Guidance, GoesBeyondThePositiveByTheScale) { EXPECT_THAT(values(denoiser(3).denoise(x_, kSigma)), all_near(0.5F + 0.5F * 3)); }

TEST_F(Guidance, ScaleOneEvaluatesOnlyThePositive) {
  auto d = denoiser(1);
  EXPECT_THAT(values(d.denoise(x_, kSigma)), all_near(1));
  ASSERT_THAT(log_.calls, SizeIs(1));
  EXPECT_THAT(log_.calls[0].cond_or_uncond, ElementsAre(0));
  EXPECT_FALSE(d.last_uncond().defined());
}

TEST_F(Guidance, ASamplerCanAskForTheNegative) {
  auto d = denoiser(1);
  d.require_uncond(true);
  EXPECT_THAT(values(d.denoise(x_, kSigma)), all_near(1));
  EXPECT_THAT(values(d.last_uncond()), all_near(0.5F));
  d.require_uncond(false);
  d.denoise(x_, kSigma);
  EXPECT_THAT(log_.calls[1].cond_or_uncond, ElementsAre(0));
}

TEST_F(Guidance, TheNetworkGetsScaledInputAndTimesteps) {
  denoiser(2).denoise(x_, kSigma);
  const NetworkInput& input = log_.calls.at(0);
  EXPECT_NEAR(input.x.floats()[1], 1.0 / std::sqrt(kSigma * kSigma + 1), 1e-6);
  EXPECT_THAT(input.timesteps, Each(model_sampling_.timestep(kSigma)));
  EXPECT_THAT(input.sigmas, ElementsAre(kSigma, kSigma));
}

TEST_F(Guidance, HooksRunInOrder) {
  GuidanceOptions options;
  options.pre_cfg.push_back({{}, [](const GuidanceCall& call) { return Predictions{filled(kLatent, 10), call.predictions.uncond}; }});
  options.pre_cfg.push_back({{}, [](const GuidanceCall& call) {
                               EXPECT_EQ(call.predictions.cond.floats()[0], 10);
                               return Predictions{call.predictions.cond, filled(kLatent, 20)};
                             }});
  options.cfg_function = {{}, [](const GuidanceCall& call) {
                            EXPECT_EQ(call.scale, 4);
                            return filled(kLatent, call.predictions.cond.floats()[0] + call.predictions.uncond.floats()[0]);
                          }};
  options.post_cfg.push_back({{}, [](const GuidanceCall&, const Tensor& d) { return filled(kLatent, d.floats()[0] + 1); }});
  options.post_cfg.push_back({{}, [](const GuidanceCall&, const Tensor& d) { return filled(kLatent, d.floats()[0] * 2); }});
  auto d = denoiser(4, options);
  EXPECT_THAT(values(d.denoise(x_, kSigma)), Each(62));
  EXPECT_THAT(values(d.last_uncond()), Each(20));
}

class NoNoise final : public NetworkOverlay {};

TEST_F(Guidance, AHookCanEvaluateAChangedNetwork) {
  const NoNoise overlay;
  GuidanceOptions options;
  options.post_cfg.push_back({{}, [&](const GuidanceCall& call, const Tensor&) { return call.evaluate({.overlay = &overlay}); }});
  const Network network = [&](const NetworkInput& input) { return input.overlay == &overlay ? filled(input.x.shape(), 0) : painter(&log_)(input); };
  CfgDenoiser d({.model_sampling = model_sampling_, .network = network, .options = options}, {paint(1)}, {}, kLatent);
  EXPECT_EQ(values(d.denoise(x_, kSigma)), values(x_));  // no noise predicted: x itself
  ASSERT_THAT(log_.calls, SizeIs(1));
  EXPECT_EQ(log_.calls[0].overlay, nullptr);
}

TEST_F(Guidance, AHookCanEvaluateEitherListOrOtherPromptsAtOtherLatents) {
  const Conditioning other = {paint(7)};
  const Tensor elsewhere = filled(kLatent, 5);
  GuidanceOptions options;
  std::vector<float> seen;
  options.post_cfg.push_back({{}, [&](const GuidanceCall& call, const Tensor& denoised) {
                                seen = {call.evaluate({}).floats()[3], call.evaluate({.prompts = Evaluation::Prompts::negative}).floats()[3],
                                        call.evaluate({.prompts = Evaluation::Prompts::other, .other = &other, .x = elsewhere}).floats()[3]};
                                return denoised;
                              }});
  denoiser(3, options).denoise(x_, kSigma);
  EXPECT_THAT(seen, ElementsAre(FloatNear(1, 1e-4F), FloatNear(0.5F, 1e-4F), FloatNear(7, 1e-4F)));
  ASSERT_THAT(log_.calls, SizeIs(4));
  EXPECT_THAT(log_.calls[2].cond_or_uncond, ElementsAre(0));
  EXPECT_NEAR(log_.calls[3].x.floats()[0], 5 / std::sqrt(kSigma * kSigma + 1), 1e-6);
}

TEST_F(Guidance, RefusesToEvaluatePromptsThatAreNotThere) {
  GuidanceOptions options;
  Evaluation wanted{.prompts = Evaluation::Prompts::negative};
  options.post_cfg.push_back({{}, [&](const GuidanceCall& call, const Tensor&) { return call.evaluate(wanted); }});
  CfgDenoiser d({.model_sampling = model_sampling_, .network = painter(), .options = options}, {paint(1)}, {}, kLatent);
  EXPECT_THROW(d.denoise(x_, kSigma), Error);
  wanted = {.prompts = Evaluation::Prompts::other};
  EXPECT_THROW(d.denoise(x_, kSigma), Error);
  wanted = {.x = filled(Shape{1, 2, 3, 4}, 0)};
  EXPECT_THROW(d.denoise(x_, kSigma), Error);
}

TEST_F(Guidance, AHookCanStandForTheEvaluationOfBothLists) {
  GuidanceOptions options;
  options.calc_cond_batch = {{}, [&](const GuidanceOptions::PredictAt& inner, const Tensor& x, float sigma) {
                               EXPECT_EQ(values(x), values(x_));
                               Predictions out = inner(filled(kLatent, 5), sigma / 2);
                               std::swap(out.cond, out.uncond);
                               return out;
                             }};
  auto d = denoiser(3, options);
  EXPECT_THAT(values(d.denoise(x_, kSigma)), all_near(1 + (0.5F - 1) * 3));
  EXPECT_THAT(values(d.last_uncond()), all_near(1));
  ASSERT_THAT(log_.calls, SizeIs(1));
  EXPECT_THAT(log_.calls[0].sigmas, Each(kSigma / 2));
}

TEST_F(Guidance, TheEvaluationHookGetsOnlyThePositiveAtScaleOne) {
  GuidanceOptions options;
  options.calc_cond_batch = {{}, [](const GuidanceOptions::PredictAt& inner, const Tensor& x, float sigma) {
                               Predictions out = inner(x, sigma);
                               EXPECT_FALSE(out.uncond.defined());
                               return out;
                             }};
  EXPECT_THAT(values(denoiser(1, options).denoise(x_, kSigma)), all_near(1));
}

TEST_F(Guidance, RefusesPredictionsOfAnotherShapeFromTheEvaluationHook) {
  GuidanceOptions options;
  options.calc_cond_batch = {{}, [](const GuidanceOptions::PredictAt&, const Tensor& x, float) {
                               return Predictions{x, filled(Shape{1, 1, 1, 1}, 0)};
                             }};
  EXPECT_THROW(denoiser(3, options).denoise(x_, kSigma), Error);
}

TEST_F(Guidance, NotesLiveAsLongAsTheRun) {
  GuidanceOptions options;
  options.post_cfg.push_back({{}, [](const GuidanceCall& call, const Tensor& denoised) {
                                ++call.run.notes.get<int>("calls");
                                return denoised;
                              }});
  std::vector<int> seen;
  const Network network = [&](const NetworkInput& input) {
    seen.push_back(input.run->notes.get<int>("calls"));
    return filled(input.x.shape(), 0);
  };
  for (int run = 0; run < 2; ++run) {
    CfgDenoiser d({.model_sampling = model_sampling_, .network = network, .options = options}, {paint(1)}, {}, kLatent);
    for (int i = 0; i < 3; ++i) d.denoise(x_, kSigma);
  }
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_F(Guidance, TheWrapperSeesUnscaledLatents) {
  GuidanceOptions options;
  options.unet_wrapper = {{}, [&](const GuidanceOptions::Apply& apply, const DenoiseBatch& batch) {
                            EXPECT_EQ(batch.x.floats()[1], 1);
                            return apply(batch);
                          }};
  EXPECT_THAT(values(denoiser(3, options).denoise(x_, kSigma)), all_near(2));
}

TEST_F(Guidance, TheNegativeCanBeForcedAtScaleOne) {
  GuidanceOptions options;
  options.disable_cfg1_optimization = true;
  auto d = denoiser(1, options);
  d.denoise(x_, kSigma);
  EXPECT_THAT(values(d.last_uncond()), all_near(0.5F));
}

TEST_F(Guidance, CancellationStopsBeforeTheNetwork) {
  auto d = denoiser(3);
  cancel_.cancel();
  try {
    d.denoise(x_, kSigma);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
  EXPECT_THAT(log_.calls, IsEmpty());
}

TEST_F(Guidance, ListsMayBeEmptyOnlyWhereNotNeeded) {
  const auto make = [&](double scale, const Conditioning& positive) {
    return CfgDenoiser({.model_sampling = model_sampling_, .network = painter(), .scale = scale}, positive, {}, kLatent);
  };
  EXPECT_THROW(make(3, {}), Error);
  EXPECT_THROW(make(3, {paint(1)}).denoise(x_, kSigma), Error);
  EXPECT_THAT(values(make(1, {paint(1)}).denoise(x_, kSigma)), all_near(1));
}

TEST_F(Guidance, RefusesWhatDoesNotFit) {
  EXPECT_THROW(denoiser(std::nan("")), Error);
  EXPECT_THROW(CfgDenoiser({.model_sampling = model_sampling_, .network = {}}, {paint(1)}, {}, kLatent), Error);
  EXPECT_THROW(denoiser(3).denoise(counting(Shape{1, 2, 3, 4}), kSigma), Error);
  const Network wrong = [](const NetworkInput&) { return filled(Shape{1, 1, 1, 1}, 0); };
  EXPECT_THROW(CfgDenoiser({.model_sampling = model_sampling_, .network = wrong}, {paint(1)}, {}, kLatent).denoise(x_, kSigma), Error);
  GuidanceOptions options;
  options.post_cfg.push_back({{}, [](const GuidanceCall&, const Tensor&) { return Tensor(); }});
  EXPECT_THROW(denoiser(3, options).denoise(x_, kSigma), Error);
}

TEST_F(Guidance, OptionsDifferByTheIdsOfTheirHooks) {
  const auto with_id = [](const char* id) {
    GuidanceOptions options;
    options.post_cfg.push_back({FingerprintBuilder().add(id).finish(), {}});
    return options;
  };
  EXPECT_EQ(with_id("a").fingerprint(), with_id("a").fingerprint());
  EXPECT_NE(with_id("a").fingerprint(), with_id("b").fingerprint());
  EXPECT_NE(with_id("a").fingerprint(), GuidanceOptions().fingerprint());
  EXPECT_TRUE(GuidanceOptions().empty());
  EXPECT_FALSE(with_id("a").empty());
}

}  // namespace
}  // namespace veneer::sampling
