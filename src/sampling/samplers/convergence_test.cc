// On normal data the probability-flow ODE has the solution x * sqrt(s^2 + end^2) / sqrt(s^2 + start^2): each deterministic sampler has to come nearer
// with more steps at the rate of its order, and stochastic ones have to give the data's variance for rectified flow too.
#include <gtest/gtest.h>

#include <cmath>

#include "sampling/rng.h"
#include "sampling/sampler.h"
#include "sampling/samplers/sampler_math.h"
#include "sampling/sigma_curves.h"
#include "sampling/testing/gaussian_denoiser.h"

namespace veneer::sampling {
namespace {

using testing::GaussianDenoiser;

struct Order {
  std::string_view sampler;
  double order;
};

class Convergence : public ::testing::TestWithParam<Order> {};

double error_with(std::string_view name, int steps) {
  const auto eps = ModelSampling::discrete(Prediction::eps);
  GaussianDenoiser model(eps, 0.0F, 1.0F);
  std::vector<float> sigmas = exponential_sigmas(steps + 1, 0.3, 8.0);
  sigmas.pop_back();
  const std::vector<float> start{6.0F};
  const Tensor out = run_sampler(find_sampler(name), {.model = model, .x = Tensor::from(Shape{1, 1, 1, 1}, start), .sigmas = sigmas});
  return std::abs(out.floats()[0] - 6.0 * std::sqrt((1.0 + 0.09) / (1.0 + 64.0)));
}

TEST_P(Convergence, IsOfTheStatedOrder) {
  const double coarse = error_with(GetParam().sampler, 12);
  const double fine = error_with(GetParam().sampler, 48);
  EXPECT_LT(fine, coarse);
  // Four times the steps: 4^order times the accuracy, with room for higher terms; f32 cannot show more than about 1e-6.
  EXPECT_LT(fine, std::max(coarse / std::pow(4.0, GetParam().order - 0.5), 3e-6)) << coarse;
}

INSTANTIATE_TEST_SUITE_P(All, Convergence,
                         ::testing::Values(Order{"euler", 1}, Order{"ddim", 1}, Order{"euler_cfg_pp", 1}, Order{"heun", 2}, Order{"dpm_2", 2},
                                           Order{"lms", 2}, Order{"deis", 2}, Order{"dpmpp_2m", 2}, Order{"res_multistep", 2}, Order{"uni_pc", 2},
                                           Order{"uni_pc_bh2", 2}, Order{"dpm_fast", 2}),
                         [](const auto& instance) { return std::string(instance.param.sampler); });

TEST(DpmAdaptive, ErrorIsWithinItsTolerance) { EXPECT_LT(error_with("dpm_adaptive", 12), 0.02); }

class FlowSampler : public ::testing::TestWithParam<std::string_view> {};

TEST_P(FlowSampler, GivesTheVarianceOfTheData) {
  const auto flow = ModelSampling::flow(1.0);
  GaussianDenoiser model(flow, 0.0F, 0.8F);
  std::vector<float> sigmas;
  for (int i = 80; i >= 0; --i) sigmas.push_back(static_cast<float>(i) / 80.0F);
  TorchGenerator generator(5);
  const Tensor x = randn(Shape{1, 4, 40, 40}, generator);
  const Tensor out = run_sampler(find_sampler(GetParam()), {.model = model, .x = x, .sigmas = sigmas, .seed = 11});
  double square = 0;
  for (const float v : out.floats()) square += static_cast<double>(v) * v;
  EXPECT_NEAR(square / static_cast<double>(out.num_elements()) / 0.64, 1.0, 0.12);
}

INSTANTIATE_TEST_SUITE_P(All, FlowSampler,
                         ::testing::Values("euler", "euler_ancestral", "heun", "dpm_2_ancestral", "dpmpp_2s_ancestral", "dpmpp_sde", "dpmpp_2m_sde",
                                           "dpmpp_3m_sde", "er_sde", "seeds_2", "seeds_3", "sa_solver", "sa_solver_pece"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(SamplerMath, AncestralStepKeepsTheVariance) {
  const AncestralStep step = ancestral_step(5.0F, 3.0F, 1.0F);
  EXPECT_NEAR(step.down * step.down + step.up * step.up, 9.0F, 1e-5);
  EXPECT_EQ(ancestral_step(5.0F, 3.0F, 0.0F).up, 0.0F);
  EXPECT_EQ(ancestral_step(5.0F, 3.0F, 100.0F).down, 0.0F);
  EXPECT_EQ(ancestral_step(INFINITY, 3.0F, 1.0F).down, 0.0F);
}

TEST(SamplerMath, LagrangeIntegralsAreExactForPolynomials) {
  const std::vector<double> nodes{3.0, 5.0, 6.0};
  const auto weights = lagrange_integrals(nodes, 3.0, 1.0);
  double square = 0;
  for (size_t j = 0; j < 3; ++j) square += weights[j] * nodes[j] * nodes[j];
  EXPECT_NEAR(square, (1.0 - 27.0) / 3.0, 1e-12);
}

TEST(SamplerMath, SolvesSystemsThatNeedAPivot) {
  const auto x = solve({0, 2, 1, 1}, {4, 5});
  EXPECT_NEAR(x[0], 3.0, 1e-12);
  EXPECT_NEAR(x[1], 2.0, 1e-12);
}

}  // namespace
}  // namespace veneer::sampling
