#include "sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <vector>

#include "sampling/rng.h"
#include "sampling/sigma_curves.h"
#include "sampling/testing/gaussian_denoiser.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using testing::GaussianDenoiser;
using ::testing::HasSubstr;

Tensor noise_of(const Shape& shape, float deviation) {
  TorchGenerator generator(17);
  Tensor out = randn(shape, generator);
  for (float& v : out.mutable_floats()) v *= deviation;
  return out;
}

double variance(const Tensor& x) {
  double square = 0;
  for (const float v : x.floats()) square += static_cast<double>(v) * v;
  return square / static_cast<double>(x.num_elements());
}

std::string test_name(const ::testing::TestParamInfo<SamplerDef>& info) { return std::string(info.param.name); }

// lcm takes the mean of the data for a sample of it, which only a consistency model makes true; dpmpp_2s_ancestral_cfg_pp mixes predictions at two
// noise levels, as the reference does.
bool keeps_the_variance(const SamplerDef& def) { return def.name != "lcm" && def.name != "dpmpp_2s_ancestral_cfg_pp"; }

std::vector<SamplerDef> variance_keeping_samplers() {
  std::vector<SamplerDef> out;
  std::ranges::copy_if(all_samplers(), std::back_inserter(out), keeps_the_variance);
  return out;
}

bool ends_at_last_positive_sigma(const SamplerDef& def) { return def.name == "dpm_fast" || def.name == "dpm_adaptive"; }

class EverySampler : public ::testing::TestWithParam<SamplerDef> {
 protected:
  Tensor run(GaussianDenoiser& model, const Tensor& x, std::span<const float> sigmas, uint64_t seed = 1) {
    return run_sampler(GetParam(), {.model = model, .x = x, .sigmas = sigmas, .seed = seed});
  }
  ModelSampling eps_ = ModelSampling::discrete(Prediction::eps);
};

class VarianceKeepingSampler : public EverySampler {};

TEST_P(EverySampler, EndsAtAPredictionThatNeverChanges) {
  GaussianDenoiser model(eps_, 0.7F, 0.0F);
  const auto sigmas = karras_sigmas(8, 0.002, 10.0);
  const Tensor out = run(model, noise_of(Shape{1, 4, 3, 3}, 10.0F), sigmas);
  for (const float v : out.floats()) EXPECT_NEAR(v, 0.7F, 0.02F);
}

TEST_P(VarianceKeepingSampler, GivesTheVarianceOfTheData) {
  GaussianDenoiser model(eps_, 0.0F, 1.5F);
  const auto sigmas = karras_sigmas(60, 0.01, 12.0);
  const Tensor out = run(model, noise_of(Shape{1, 4, 40, 40}, std::sqrt(12.0F * 12.0F + 2.25F)), sigmas);
  EXPECT_NEAR(variance(out) / 2.25, 1.0, 0.12);
}

TEST_P(EverySampler, RepeatsItselfAndDependsOnTheSeedOnlyWhenItDrawsNoise) {
  GaussianDenoiser model(eps_, 0.0F, 1.0F);
  const auto sigmas = karras_sigmas(6, 0.03, 10.0);
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 10.0F);
  const Tensor first = run(model, x, sigmas);
  const Tensor again = run(model, x, sigmas);
  const Tensor other = run(model, x, sigmas, 2);
  EXPECT_TRUE(std::equal(first.floats().begin(), first.floats().end(), again.floats().begin()));
  const bool same = std::equal(first.floats().begin(), first.floats().end(), other.floats().begin());
  const std::set<std::string_view> quiet{"dpm_fast", "dpm_adaptive", "res_multistep", "res_multistep_cfg_pp"};  // draw, but with weight 0
  EXPECT_EQ(same, GetParam().noise == NoiseKind::none || quiet.contains(GetParam().name));
}

TEST_P(EverySampler, TakesTheOnlyStepToThePrediction) {
  GaussianDenoiser model(eps_, 0.3F, 1.0F);
  const std::vector<float> sigmas{10.0F, 0.0F};
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 10.0F);
  const Tensor out = run(model, x, sigmas);
  // With one positive sigma there is no way to go for those that end there.
  const Tensor want = ends_at_last_positive_sigma(GetParam()) ? x : model.denoise(x, 10.0F);
  for (size_t i = 0; i < 36; ++i) EXPECT_NEAR(out.floats()[i], want.floats()[i], 5e-3);
}

TEST_P(VarianceKeepingSampler, StopsAtThePositiveEndOfAPartialRun) {
  GaussianDenoiser model(eps_, 0.0F, 1.0F);
  std::vector<float> sigmas = karras_sigmas(40, 2.0, 10.0);
  sigmas.pop_back();
  const Tensor out = run(model, noise_of(Shape{1, 4, 40, 40}, std::sqrt(101.0F)), sigmas);
  EXPECT_NEAR(variance(out) / 5.0, 1.0, 0.12);
}

TEST_P(EverySampler, ReturnsTheLatentsWithoutAStep) {
  GaussianDenoiser model(eps_, 0.0F, 1.0F);
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 1.0F);
  EXPECT_EQ(run(model, x, {}).bytes(), x.bytes());
  const std::vector<float> one{5.0F};
  EXPECT_EQ(run(model, x, one).bytes(), x.bytes());
  EXPECT_EQ(model.calls, 0);
}

TEST_P(EverySampler, LetsCancellationThroughAndLeavesNothingSwitchedOn) {
  GaussianDenoiser model(eps_, 0.0F, 1.0F);
  bool was_required = false;
  model.on_call = [&](int call) {
    was_required = model.uncond_required;
    if (call == 2) throw Error(ErrorCode::cancelled, "the job was cancelled");
  };
  const auto sigmas = karras_sigmas(6, 0.03, 10.0);
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 10.0F);
  const std::vector<float> before(x.floats().begin(), x.floats().end());
  EXPECT_THROW(run(model, x, sigmas), Error);
  EXPECT_EQ(was_required, GetParam().needs_uncond);
  EXPECT_FALSE(model.uncond_required);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), x.floats().begin()));
}

TEST_P(EverySampler, EndsOnPredictionsThatAreNotNumbers) {
  GaussianDenoiser model(eps_, std::numeric_limits<float>::quiet_NaN(), 1.0F);
  const auto sigmas = karras_sigmas(6, 0.03, 10.0);
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 10.0F);
  if (GetParam().name == "dpm_adaptive") {
    EXPECT_THROW(run(model, x, sigmas), Error);
  } else {
    EXPECT_TRUE(std::isnan(run(model, x, sigmas).floats()[0]));
  }
}

TEST_P(EverySampler, ReportsEveryStepInOrder) {
  GaussianDenoiser model(eps_, 0.0F, 1.0F);
  const auto sigmas = karras_sigmas(6, 0.03, 10.0);
  std::vector<int> steps;
  SamplerRun run{.model = model, .x = noise_of(Shape{1, 4, 3, 3}, 10.0F), .sigmas = sigmas, .seed = 1};
  run.callback = [&](int step, int total, const Tensor& x, const Tensor& denoised) {
    steps.push_back(step);
    EXPECT_EQ(total, 6);
    EXPECT_EQ(x.shape(), denoised.shape());
  };
  run_sampler(GetParam(), std::move(run));
  ASSERT_FALSE(steps.empty());
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i], static_cast<int>(i));
  if (!ends_at_last_positive_sigma(GetParam())) {
    EXPECT_EQ(steps.size(), 6U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, VarianceKeepingSampler, ::testing::ValuesIn(variance_keeping_samplers()), test_name);
INSTANTIATE_TEST_SUITE_P(All, EverySampler, ::testing::ValuesIn(all_samplers().begin(), all_samplers().end()), test_name);

TEST(Sampler, ListHasUniqueNamesAndAlgorithms) {
  std::set<std::string_view> names;
  for (const SamplerDef& def : all_samplers()) {
    EXPECT_TRUE(names.insert(def.name).second) << def.name;
    EXPECT_NE(def.run, nullptr) << def.name;
  }
  EXPECT_EQ(names.size(), 42U);
}

TEST(Sampler, UnknownNamesAreAnsweredWithTheAllowedOnes) {
  try {
    find_sampler("euler_b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    EXPECT_THAT(std::string(error.find("allowed")), HasSubstr("euler, euler_cfg_pp, euler_ancestral"));
  }
}

TEST(Sampler, RefusesWhatItCannotRun) {
  const auto eps = ModelSampling::discrete(Prediction::eps);
  GaussianDenoiser model(eps, 0.0F, 1.0F);
  const SamplerDef& euler = find_sampler("euler");
  const Tensor x = noise_of(Shape{1, 4, 2, 2}, 1.0F);
  const std::vector<float> nan{std::numeric_limits<float>::quiet_NaN(), 0.0F};
  const std::vector<float> negative{1.0F, -1.0F};
  const std::vector<float> good{1.0F, 0.0F};
  SamplerOptions no_middle;
  no_middle.r = 0.0F;
  EXPECT_THROW(run_sampler(euler, {.model = model, .x = x, .sigmas = nan}), Error);
  EXPECT_THROW(run_sampler(euler, {.model = model, .x = x, .sigmas = negative}), Error);
  EXPECT_THROW(run_sampler(euler, {.model = model, .x = Tensor(), .sigmas = good}), Error);
  EXPECT_THROW(run_sampler(euler, {.model = model, .x = Tensor::zeros(Shape{1, 4, 2, 2}, DType::f16), .sigmas = good}), Error);
  EXPECT_THROW(run_sampler(euler, {.model = model, .x = x, .sigmas = good, .options = no_middle}), Error);
  EXPECT_EQ(model.calls, 0);
}

TEST(Sampler, EtaZeroMakesAncestralSamplersDeterministic) {
  const auto eps = ModelSampling::discrete(Prediction::eps);
  const auto sigmas = karras_sigmas(6, 0.03, 10.0);
  const Tensor x = noise_of(Shape{1, 4, 3, 3}, 10.0F);
  const auto run = [&](std::string_view name) {
    GaussianDenoiser model(eps, 0.0F, 1.0F);
    return run_sampler(find_sampler(name), {.model = model, .x = x, .sigmas = sigmas, .seed = 3, .options = {.eta = 0.0F}});
  };
  const Tensor ancestral = run("euler_ancestral");
  const Tensor plain = run("euler");
  for (size_t i = 0; i < 36; ++i) EXPECT_NEAR(ancestral.floats()[i], plain.floats()[i], 1e-5);
}

}  // namespace
}  // namespace veneer::sampling
