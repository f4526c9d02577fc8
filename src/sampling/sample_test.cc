#include "sampling/sample.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/noise.h"
#include "sampling/run_state.h"
#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Shape kLatent{1, 2, 4, 4};
constexpr float kScale = 0.18215F;

class Sample : public ::testing::Test {
 protected:
  SampleRequest request() {
    SampleRequest out{.model_sampling = model_sampling_, .network = painter(&log_)};
    out.positive = {paint(1)};
    out.negative = {paint(0)};
    out.latent.samples = filled(kLatent, 0);
    out.steps = 4;
    return out;
  }

  ModelSampling model_sampling_ = ModelSampling::discrete(Prediction::eps);
  NetworkLog log_;
};

auto all_near(float value, float tolerance = 1e-3F) { return Each(FloatNear(value, tolerance)); }

TEST_F(Sample, EndsAtTheCleanLatentInTheVaesScaling) {
  EXPECT_THAT(values(sample(request())), all_near(1 / kScale));
  EXPECT_THAT(log_.calls, SizeIs(4));
}

TEST_F(Sample, TheScalingIsTheFamilys) {
  SampleRequest r = request();
  r.scaling = {.scale = 0.5, .shift = 3};
  EXPECT_THAT(values(sample(r)), all_near(1 / 0.5F + 3));
}

TEST_F(Sample, StartsFromTheLatentWhenDenoiseIsBelowOne) {
  SampleRequest r = request();
  r.latent.samples = filled(kLatent, 10);
  r.noise = filled(kLatent, 0);
  r.denoise = 0.5;
  r.network = [](const NetworkInput& input) { return filled(input.x.shape(), 0); };  // no noise to take away
  EXPECT_THAT(values(sample(r)), all_near(10));
}

TEST_F(Sample, TheSameSeedGivesTheSamePicture) {
  SampleRequest r = request();
  r.network = [](const NetworkInput& input) { return input.x; };
  r.seed = 7;
  const auto first = values(sample(r));
  EXPECT_EQ(values(sample(r)), first);
  r.seed = 8;
  EXPECT_NE(values(sample(r)), first);
}

TEST_F(Sample, ARowOfABatchCanBeMadeAgainAlone) {
  SampleRequest r = request();
  r.network = [](const NetworkInput& input) { return input.x; };
  r.latent = {.samples = filled(Shape{2, 2, 4, 4}, 0), .batch_index = {3, 5}};
  const Tensor both = sample(r);
  r.latent = {.samples = filled(kLatent, 0), .batch_index = {5}};
  EXPECT_EQ(values(sample(r)), values(both.slice(1, 1)));
}

TEST_F(Sample, RandomChoicesGoOnWhereTheNoiseEnded) {
  SampleRequest r = request();
  uint32_t drawn = 0;
  r.network = [&](const NetworkInput& input) {
    TorchGenerator copy = input.run->random;
    drawn = copy.random_u32();
    return input.x;
  };
  const auto expect_next = [&](TorchGenerator expected) {
    sample(r);
    EXPECT_EQ(drawn, expected.random_u32());
  };
  TorchGenerator expected(r.seed);
  expect_next((prepare_noise(kLatent, expected), expected));
  r.latent.batch_index = {2};
  expected.manual_seed(r.seed);
  expect_next((prepare_noise(kLatent, expected, r.latent.batch_index), expected));
  r.disable_noise = true;
  expect_next(TorchGenerator(r.seed));
  r.sampler = "ddim";  // draws noise for inpainting
  expected.manual_seed(r.seed + 1);
  expect_next((prepare_noise(kLatent, expected), expected));
}

TEST_F(Sample, NothingToDoReturnsTheLatent) {
  SampleRequest r = request();
  r.latent.samples = counting(kLatent);
  r.denoise = 0;
  EXPECT_EQ(values(sample(r)), values(r.latent.samples));
  r.denoise = 1;
  r.start_step = 50;
  EXPECT_EQ(values(sample(r)), values(r.latent.samples));
  EXPECT_THAT(log_.calls, IsEmpty());
}

TEST_F(Sample, GivenSigmasReplaceTheSchedule) {
  SampleRequest r = request();
  r.sigmas = {8, 4, 2, 0};
  r.start_step = 1;
  sample(r);
  ASSERT_THAT(log_.calls, SizeIs(2));
  EXPECT_THAT(log_.calls[0].sigmas, ElementsAre(4));
}

TEST_F(Sample, WithoutNoiseTheLatentIsTakenAsNoisy) {
  SampleRequest r = request();
  r.latent.samples = filled(kLatent, 10);
  r.disable_noise = true;
  r.sigmas = {2, 0};
  sample(r);
  EXPECT_THAT(values(log_.calls.at(0).x), all_near(10 * kScale / std::sqrt(5.0F), 1e-5F));
}

TEST_F(Sample, TellsEveryStep) {
  SampleRequest r = request();
  std::vector<int> steps;
  r.callback = [&](int step, int total, const Tensor&, const Tensor& denoised) {
    EXPECT_EQ(total, 4);
    EXPECT_THAT(values(denoised), all_near(1));
    steps.push_back(step);
  };
  sample(r);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3));
}

TEST_F(Sample, CanBeCancelledFromTheCallback) {
  SampleRequest r = request();
  r.callback = [&](int, int, const Tensor&, const Tensor&) { r.cancel.cancel(); };
  try {
    sample(r);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::cancelled);
  }
  EXPECT_THAT(log_.calls, SizeIs(1));
}

TEST_F(Sample, InpaintingKeepsWhatTheMaskLeavesOut) {
  SampleRequest r = request();
  r.latent.samples = filled(kLatent, 2);
  Tensor mask = filled(Shape{1, 4, 4}, 0);
  mask.mutable_data<float>()[5] = 1;
  for (const char* sampler : {"euler", "ddim"}) {
    r.sampler = sampler;
    r.latent.noise_mask = mask;
    const auto v = values(sample(r));
    EXPECT_NEAR(v[5], 1 / kScale, 1e-2) << sampler;
    EXPECT_NEAR(v[4], 2, 1e-2) << sampler;
  }
}

TEST_F(Sample, TheMaskCanChangeWithTheNoiseLevel) {
  SampleRequest r = request();
  r.latent.samples = filled(kLatent, 2);
  r.latent.noise_mask = filled(Shape{1, 1, 4, 4}, 1);
  r.guidance.denoise_mask_function = {{}, [](const Tensor& mask, float, std::span<const float> sigmas) {
                                        EXPECT_EQ(sigmas.size(), 5U);
                                        return filled(mask.shape(), 0);
                                      }};
  EXPECT_THAT(values(sample(r)), all_near(2, 1e-2F));
}

TEST_F(Sample, RefusesARequestThatDoesNotFitTogether) {
  const auto fails = [&](auto change) {
    SampleRequest r = request();
    change(r);
    EXPECT_THROW(sample(r), Error);
  };
  fails([](SampleRequest& r) { r.latent.samples = Tensor(); });
  fails([](SampleRequest& r) { r.latent.samples = filled(Shape{0, 4, 4, 4}, 0); });
  fails([](SampleRequest& r) { r.latent.samples = filled(Shape{4, 4, 4}, 0); });
  fails([](SampleRequest& r) { r.noise = filled(Shape{1, 2, 4, 5}, 0); });
  fails([](SampleRequest& r) { r.latent.batch_index = {0, 1}; });
  fails([](SampleRequest& r) { r.latent.noise_mask = filled(Shape{4}, 0); });
  fails([](SampleRequest& r) { r.latent.noise_mask = filled(Shape{1, 4, 4}, NAN); });
  fails([](SampleRequest& r) { r.sampler = "eular"; });
  fails([](SampleRequest& r) { r.scheduler = "norm"; });
  fails([](SampleRequest& r) { r.steps = 0; });
  fails([](SampleRequest& r) { r.cfg = HUGE_VAL; });
  fails([](SampleRequest& r) { r.scaling.scale = 0; });
  fails([](SampleRequest& r) { r.positive = {}; });
  fails([](SampleRequest& r) { r.network = {}; });
}

TEST_F(Sample, WhatTheNetworkThrowsPassesThrough) {
  SampleRequest r = request();
  r.network = [](const NetworkInput&) -> Tensor { throw Error(ErrorCode::no_memory, "full"); };
  try {
    sample(r);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_memory);
  }
}

}  // namespace
}  // namespace veneer::sampling
