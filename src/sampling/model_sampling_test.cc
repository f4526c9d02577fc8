#include "sampling/model_sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "sampling/rng.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

Tensor random(const Shape& shape, uint64_t seed) {
  TorchGenerator generator(seed);
  return randn(shape, generator);
}

TEST(ModelSampling, HasStableDiffusionsRangeOfSigmas) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  EXPECT_EQ(ms.sigmas().size(), 1000U);
  EXPECT_NEAR(ms.sigma_min(), 0.0291671585F, 1e-8);
  EXPECT_NEAR(ms.sigma_max(), 14.6146412F, 1e-6);
}

TEST(ModelSampling, ZeroTerminalSnrEndsInAlmostPureNoiseAndKeepsTheStart) {
  const auto plain = ModelSampling::discrete(Prediction::v);
  const auto zsnr = ModelSampling::discrete(Prediction::v, {}, true);
  EXPECT_NEAR(zsnr.sigma_max(), 4518.76F, 0.01);
  EXPECT_NEAR(zsnr.sigma_min(), plain.sigma_min(), 1e-7);
}

TEST(ModelSampling, TimestepIsTheTablesIndexAndSigmaItsInverse) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  for (const size_t i : {size_t{0}, size_t{1}, size_t{500}, size_t{999}}) {
    EXPECT_EQ(ms.timestep(ms.sigmas()[i]), static_cast<float>(i));
    EXPECT_NEAR(ms.sigma(static_cast<float>(i)) / ms.sigmas()[i], 1.0F, 1e-6);
  }
  EXPECT_EQ(ms.timestep(1000.0F), 999.0F);
  EXPECT_EQ(ms.timestep(0.0F), 0.0F);
}

TEST(ModelSampling, SigmaIsClampedToTheTableAndNeverOutOfIt) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  EXPECT_NEAR(ms.sigma(5000.0F), ms.sigma_max(), 1e-5);
  EXPECT_NEAR(ms.sigma(-1.0F), ms.sigma_min(), 1e-7);
  EXPECT_TRUE(std::isfinite(ms.sigma(std::numeric_limits<float>::quiet_NaN())));
}

TEST(ModelSampling, PercentCoversTheRun) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  EXPECT_GT(ms.percent_to_sigma(0.0), 1e8);
  EXPECT_EQ(ms.percent_to_sigma(1.0), 0.0);
  EXPECT_GT(ms.percent_to_sigma(0.2), ms.percent_to_sigma(0.3));
  EXPECT_EQ(ModelSampling::flow(3.0).percent_to_sigma(0.0), 1.0);
  EXPECT_NEAR(ModelSampling::flow(3.0).percent_to_sigma(0.5), 0.75, 1e-12);
}

TEST(ModelSampling, DistilledTableIsEveryTwentiethEntry) {
  const auto all = ModelSampling::discrete(Prediction::lcm);
  const auto few = ModelSampling::distilled(Prediction::lcm, 50);
  ASSERT_EQ(few.sigmas().size(), 50U);
  EXPECT_EQ(few.sigma_max(), all.sigma_max());
  EXPECT_EQ(few.sigma_min(), all.sigmas()[19]);
  EXPECT_EQ(few.timestep(few.sigma_min()), 19.0F);
  EXPECT_NEAR(few.sigma(39.0F), all.sigmas()[39], 1e-6);
}

// Karras et al. 2022, table 1: c_noise = log(sigma) / 4, c_in = 1 / sqrt(sigma^2 + sigma_data^2), c_skip, c_out.
TEST(ModelSampling, ContinuousEdmIsKarrasPreconditioning) {
  const auto ms = ModelSampling::continuous(Prediction::edm, {.sigma_min = 0.002, .sigma_max = 80, .sigma_data = 0.5});
  EXPECT_EQ(ms.sigmas().size(), 1000U);
  EXPECT_NEAR(ms.sigma_min(), 0.002F, 1e-7);
  EXPECT_NEAR(ms.sigma_max(), 80.0F, 1e-3);
  EXPECT_NEAR(ms.timestep(std::exp(2.0F)), 0.5F, 1e-6);
  EXPECT_NEAR(ms.sigma(0.5F), std::exp(2.0F), 1e-5);
  EXPECT_NEAR(ms.percent_to_sigma(0.5), std::sqrt(0.002 * 80), 1e-9);
  EXPECT_GT(ms.percent_to_sigma(0.0), 1e8);
  EXPECT_EQ(ms.percent_to_sigma(1.0), 0.0);
  const Shape shape{1, 1, 1, 1};
  const std::vector<float> sigma{1.5F}, x{0.7F}, y{-0.3F};
  const double s = 1.5, d = 0.5, both = s * s + d * d;
  EXPECT_NEAR(ms.calculate_input(sigma, Tensor::from(shape, x)).floats()[0], 0.7 / std::sqrt(both), 1e-6);
  EXPECT_NEAR(ms.calculate_denoised(sigma, Tensor::from(shape, y), Tensor::from(shape, x)).floats()[0],
              0.7 * d * d / both + -0.3 * s * d / std::sqrt(both), 1e-6);
}

TEST(ModelSampling, ContinuousLevelsOfUnitDataPredictAsDiscreteOnes) {
  const Tensor x = random(Shape{1, 4, 2, 2}, 1), y = random(Shape{1, 4, 2, 2}, 2);
  const std::vector<float> sigma{2.5F};
  for (const Prediction prediction : {Prediction::eps, Prediction::v}) {
    const auto any = ModelSampling::continuous(prediction, {}), table = ModelSampling::discrete(prediction);
    const Tensor a = any.calculate_denoised(sigma, y, x), b = table.calculate_denoised(sigma, y, x);
    for (size_t i = 0; i < a.floats().size(); ++i) EXPECT_EQ(a.floats()[i], b.floats()[i]);
    EXPECT_NE(any.fingerprint(), table.fingerprint());
  }
}

TEST(ModelSampling, ContinuousLevelsHaveToBePositiveAndInOrder) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (const ContinuousLevels& levels : {ContinuousLevels{0, 1, 1}, ContinuousLevels{1, 1, 1}, ContinuousLevels{2, 1, 1}, ContinuousLevels{1, inf, 1},
                                         ContinuousLevels{nan, 1, 1}, ContinuousLevels{1, nan, 1}, ContinuousLevels{1, 2, 0}}) {
    EXPECT_THROW(ModelSampling::continuous(Prediction::edm, levels), Error);
  }
  EXPECT_THROW(ModelSampling::continuous(Prediction::lcm, {}), Error);
  EXPECT_THROW(ModelSampling::discrete(Prediction::edm), Error);
}

// For x = x0 + sigma*eps, each prediction's own target has to give back x0.
TEST(ModelSampling, DenoisedOfThePerfectOutputIsTheLatent) {
  const Shape shape{2, 4, 3, 3};
  const Tensor x0 = random(shape, 1);
  const Tensor eps = random(shape, 2);
  const std::vector<float> sigma{2.5F, 0.3F};
  for (const Prediction p : {Prediction::eps, Prediction::v, Prediction::x0, Prediction::img_to_img}) {
    const auto ms = ModelSampling::discrete(p);
    const Tensor x = ms.noise_scaling(sigma, eps, x0, false);
    Tensor target = Tensor::empty(shape, DType::f32);
    for (size_t i = 0; i < 72; ++i) {
      const float s = sigma[i / 36];
      const float n = eps.floats()[i];
      const float l = x0.floats()[i];
      target.mutable_floats()[i] = p == Prediction::eps ? n : p == Prediction::v ? (n - s * l) / std::sqrt(1.0F + s * s) : l;
    }
    const Tensor got = ms.calculate_denoised(sigma, target, x);
    for (size_t i = 0; i < 72; ++i) EXPECT_NEAR(got.floats()[i], x0.floats()[i], 1e-5) << to_string(p);
  }
}

TEST(ModelSampling, FlowMixesAndUnmixesSignalAndNoise) {
  const auto ms = ModelSampling::flow(1.0);
  const Shape shape{1, 4, 2, 2};
  const Tensor x0 = random(shape, 1);
  const Tensor eps = random(shape, 2);
  const float sigma = 0.4F;
  const Tensor x = ms.noise_scaling({&sigma, 1}, eps, x0, true);
  Tensor velocity = Tensor::empty(shape, DType::f32);
  for (size_t i = 0; i < 16; ++i) velocity.mutable_floats()[i] = eps.floats()[i] - x0.floats()[i];
  const Tensor got = ms.calculate_denoised({&sigma, 1}, velocity, x);
  for (size_t i = 0; i < 16; ++i) EXPECT_NEAR(got.floats()[i], x0.floats()[i], 1e-6);
  EXPECT_NEAR(ms.inverse_noise_scaling({&sigma, 1}, x0).floats()[0], x0.floats()[0] / 0.6F, 1e-6);
}

TEST(ModelSampling, MaxDenoiseGivesTheNoiseTheVarianceOfANoisedLatent) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  EXPECT_TRUE(ms.is_max_denoise(14.61464F));
  EXPECT_TRUE(ms.is_max_denoise(20.0F));
  EXPECT_FALSE(ms.is_max_denoise(14.0F));
  const Tensor noise = random(Shape{1, 4, 2, 2}, 1);
  const float sigma = 3.0F;
  const Tensor x = ms.noise_scaling({&sigma, 1}, noise, Tensor::zeros(noise.shape(), DType::f32), true);
  EXPECT_NEAR(x.floats()[0], noise.floats()[0] * std::sqrt(10.0F), 1e-5);
}

TEST(ModelSampling, HalfLogSnrAndSigmaAreInverse) {
  for (const auto& ms : {ModelSampling::discrete(Prediction::eps), ModelSampling::flow(3.0)}) {
    for (const float sigma : {0.05F, 0.5F, 0.95F}) EXPECT_NEAR(ms.sigma_of_half_log_snr(ms.half_log_snr(sigma)), sigma, 1e-6);
  }
}

TEST(ModelSampling, RefusesWhatDoesNotFit) {
  const auto ms = ModelSampling::discrete(Prediction::eps);
  const Tensor x = random(Shape{2, 4, 2, 2}, 1);
  const std::vector<float> three{1.0F, 2.0F, 3.0F};
  EXPECT_THROW(ms.calculate_input(three, x), Error);
  EXPECT_THROW(ms.calculate_input({}, x), Error);
  EXPECT_THROW(ms.calculate_denoised({three.data(), 1}, random(Shape{1, 4, 2, 2}, 1), x), Error);
  EXPECT_THROW(ms.calculate_input({three.data(), 1}, Tensor::zeros(Shape{1}, DType::f16)), Error);
  EXPECT_THROW(ModelSampling::discrete(Prediction::flow), Error);
  EXPECT_THROW(ModelSampling::discrete(Prediction::eps, {.end = 1.5}), Error);
  EXPECT_THROW(ModelSampling::discrete(Prediction::eps, {.timesteps = 1}), Error);
  EXPECT_THROW(ModelSampling::distilled(Prediction::lcm, 7), Error);
  EXPECT_THROW(ModelSampling::flow(0.0), Error);
  EXPECT_THROW(prediction_from_string("velocity"), Error);
}

TEST(ModelSampling, IsKnownByWhatItDoes) {
  const auto id = [](const ModelSampling& sampling) { return sampling.fingerprint(); };
  const Fingerprint eps = id(ModelSampling::discrete(Prediction::eps));
  EXPECT_EQ(id(ModelSampling::discrete(Prediction::eps)), eps);
  EXPECT_NE(id(ModelSampling::discrete(Prediction::v)), eps);
  EXPECT_NE(id(ModelSampling::discrete(Prediction::eps, {}, true)), eps);
  EXPECT_NE(id(ModelSampling::discrete(Prediction::eps, {.end = 0.013})), eps);
  EXPECT_NE(id(ModelSampling::distilled(Prediction::eps)), eps);
  EXPECT_NE(id(ModelSampling::flow(3)), id(ModelSampling::flow(2)));
}

TEST(ModelSampling, TellsWhatItsTableWasMadeOf) {
  EXPECT_EQ(ModelSampling::discrete(Prediction::eps, {.end = 0.013}).betas()->end, 0.013);
  EXPECT_FALSE(ModelSampling::flow(3).betas());
}

}  // namespace
}  // namespace veneer::sampling
