// Samplers that remember the slopes of earlier steps: linear multistep (Adams and Bashforth) with exact weights for uneven steps, pseudo linear
// multistep (Liu et al. 2022, PNDM; Zhang and Chen 2022, iPNDM), and DEIS (Zhang and Chen 2022), which integrates the polynomial in the time of a
// variance preserving process.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// Slopes of the last steps, newest first.
using History = std::deque<Tensor>;

// Runs the steps; `weights(i, order)` are the factors of the slopes, newest first, that are added to x in step i.
template <typename Weights>
Tensor multistep(SamplerRun& run, size_t max_order, bool last_step_is_denoised, const Weights& weights) {
  History slopes;
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F && last_step_is_denoised) return denoised;
    slopes.push_front(slope(x, step.sigma, denoised));
    if (slopes.size() > max_order) slopes.pop_back();
    std::vector<Term> terms{{1.0F, x}};
    const std::vector<double> factors = weights(step.index, slopes.size());
    for (size_t j = 0; j < factors.size(); ++j) terms.push_back({static_cast<float>(factors[j]), slopes[j]});
    return combine(terms);
  });
}

// Adams-Bashforth weights over sigma for the step i.
std::vector<double> adams_weights(std::span<const float> sigmas, size_t i, size_t order) {
  std::vector<double> nodes;
  for (size_t j = 0; j < order; ++j) nodes.push_back(sigmas[i - j]);
  return lagrange_integrals(nodes, sigmas[i], sigmas[i + 1]);
}

// Weights of ipndm_v for steps of lengths h[0] (this one), h[1] (the last), ... A second-order rule for uneven steps plus corrections `third` and
// `fourth`. These are not Adams and Bashforth's: in `third` the reference multiplies before it subtracts, which its pictures depend on.
std::vector<double> ipndm_v_weights(std::span<const double> h) {
  const size_t order = h.size();
  if (order == 1) return {h[0]};
  std::vector<double> weights(order, 0.0);
  weights[0] = 1.0 + h[0] / h[1] / 2;
  weights[1] = -h[0] / h[1] / 2;
  if (order >= 3) {
    const double ratio = h[0] * (h[0] + h[1]) / (h[1] * (h[1] + h[2]));
    const double third = (1.0 - h[0] / (3.0 * (h[0] + h[1])) * ratio) / 2;
    weights[0] += third;
    weights[1] -= (1.0 + h[1] / h[2]) * third;
    weights[2] += h[1] / h[2] * third;
  }
  if (order >= 4) {
    const double near = h[0] + h[1] + h[2];
    const double outer = h[1] * (h[1] + h[2]) / (h[2] * (h[2] + h[3]));
    const double ratio = h[0] * (h[0] + h[1]) * near / (h[1] * (h[1] + h[2]) * (h[1] + h[2] + h[3]));
    const double linear = (1.0 - h[0] / (3.0 * (h[0] + h[1]))) / 2;
    const double quadratic = (1.0 - h[0] / (2.0 * (h[0] + h[1]))) * h[0] / (6.0 * near);
    const double fourth = (linear + quadratic) * ratio;
    weights[0] += fourth;
    weights[1] -= (1.0 + h[1] / h[2] + outer) * fourth;
    weights[2] += (h[1] / h[2] + outer * (1.0 + h[2] / h[3])) * fourth;
    weights[3] -= outer * h[1] / h[2] * fourth;
  }
  for (double& weight : weights) weight *= h[0];
  return weights;
}

// The variance preserving process in whose time DEIS interpolates: beta(t) = beta_0 + t*(beta_1 - beta_0), sigma(1e-3) = 0.002, sigma(1) = 80.
class DeisTime {
 public:
  DeisTime() {
    constexpr double kFirstTime = 1e-3;
    const double low = std::log(0.002 * 0.002 + 1.0);
    const double high = std::log(80.0 * 80.0 + 1.0);
    slope_ = 2.0 * (low / kFirstTime - high) / (kFirstTime - 1.0);
    start_ = high - 0.5 * slope_;
  }
  double time(double sigma) const { return (std::sqrt(start_ * start_ + 2.0 * slope_ * std::log(sigma * sigma + 1.0)) - start_) / slope_; }
  // What the slope at time t is multiplied by under the integral: -(1/2) dlog(alpha)/dt / sqrt(alpha (1 - alpha)), alpha the signal's variance.
  double density(double t) const {
    const double log_alpha = -0.5 * t * t * slope_ - t * start_;
    const double alpha = std::exp(log_alpha);
    return 0.5 * (t * slope_ + start_) / std::sqrt(alpha * -std::expm1(log_alpha));
  }

 private:
  double slope_;
  double start_;
};

std::vector<double> deis_weights(std::span<const float> sigmas, size_t i, size_t order) {
  constexpr int kSamples = 10000;  // the rectangle rule of the reference, whose error is part of its results
  const DeisTime process;
  std::vector<double> nodes;
  for (size_t j = 0; j < order; ++j) nodes.push_back(process.time(sigmas[i - j]));
  const double from = nodes[0];
  const double to = process.time(sigmas[i + 1]);
  std::vector<double> weights(order, 0.0);
  for (int s = 0; s < kSamples; ++s) {
    const double t = from + (to - from) * s / (kSamples - 1);
    const double density = process.density(t);
    for (size_t j = 0; j < order; ++j) {
      double basis = density;
      for (size_t k = 0; k < order; ++k) {
        if (k != j) basis *= (t - nodes[k]) / (nodes[j] - nodes[k]);
      }
      weights[j] += basis;
    }
  }
  for (double& weight : weights) weight *= (to - from) / kSamples;
  return weights;
}

}  // namespace

Tensor sample_lms(SamplerRun& run) {
  const auto weights = [&](size_t i, size_t order) { return adams_weights(run.sigmas, i, order); };
  return multistep(run, static_cast<size_t>(run.options.order), true, weights);
}

Tensor sample_ipndm(SamplerRun& run) {
  // Adams-Bashforth weights for equal steps, used for unequal ones too.
  static constexpr std::array<std::array<double, 4>, 4> kWeights{{
      {1.0, 0.0, 0.0, 0.0},
      {3.0 / 2, -1.0 / 2, 0.0, 0.0},
      {23.0 / 12, -16.0 / 12, 5.0 / 12, 0.0},
      {55.0 / 24, -59.0 / 24, 37.0 / 24, -9.0 / 24},
  }};
  const auto weights = [&](size_t i, size_t order) {
    const double length = static_cast<double>(run.sigmas[i + 1]) - run.sigmas[i];
    std::vector<double> out(kWeights[order - 1].begin(), kWeights[order - 1].begin() + static_cast<std::ptrdiff_t>(order));
    for (double& weight : out) weight *= length;
    return out;
  };
  return multistep(run, kWeights.size(), true, weights);
}

Tensor sample_ipndm_v(SamplerRun& run) {
  constexpr size_t kMaxOrder = 4;
  const auto weights = [&](size_t i, size_t order) {
    std::vector<double> lengths;
    for (size_t j = 0; j < order; ++j) lengths.push_back(static_cast<double>(run.sigmas[i + 1 - j]) - run.sigmas[i - j]);
    return ipndm_v_weights(lengths);
  };
  return multistep(run, kMaxOrder, true, weights);
}

Tensor sample_deis(SamplerRun& run) {
  constexpr size_t kMaxOrder = 3;
  const auto weights = [&](size_t i, size_t order) -> std::vector<double> {
    if (order == 1 || run.sigmas[i + 1] <= 0.0F) return {static_cast<double>(run.sigmas[i + 1]) - run.sigmas[i]};
    return deis_weights(run.sigmas, i, order);
  };
  return multistep(run, kMaxOrder, false, weights);
}

}  // namespace veneer::sampling
