// ER-SDE-Solver-3 (Cui et al. 2023, "Elucidating the Solution Space of Extended Reverse-Time SDE for Diffusion Models"): a Taylor expansion of the
// prediction in lambda = sigma/alpha, whose integrals with the noise scaling function are summed numerically.
#include <algorithm>
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// The paper's recommended noise scaling function (ER-SDE 5): lambda * (exp(lambda^0.3) + 10).
double noise_scale(double lambda) { return lambda * (std::exp(std::pow(lambda, 0.3)) + 10.0); }

struct Integrals {
  double first = 0;   // of 1 / noise_scale over [to, from]
  double second = 0;  // of (lambda - from) / noise_scale
};

Integrals integrate(double from, double to) {
  constexpr int kPoints = 200;  // left rectangles, as the paper's code
  const double width = (from - to) / kPoints;
  Integrals out;
  for (int k = 0; k < kPoints; ++k) {
    const double lambda = to + k * width;
    out.first += width / noise_scale(lambda);
    out.second += width * (lambda - from) / noise_scale(lambda);
  }
  return out;
}

}  // namespace

Tensor sample_er_sde(SamplerRun& run) {
  const std::vector<float> sigmas = sigmas_with_finite_snr(run);
  const ModelSampling& model_sampling = run.model.model_sampling();
  std::vector<double> lambdas;
  lambdas.reserve(sigmas.size());
  for (const float sigma : sigmas) lambdas.push_back(std::exp(-static_cast<double>(model_sampling.half_log_snr(sigma))));
  Tensor old_denoised;
  Tensor old_derivative;
  return each_step(run, sigmas, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const auto [i, sigma, next] = step;
    if (next == 0.0F) return denoised;
    const double from = lambdas[i];
    const double to = lambdas[i + 1];
    const double alpha_from = sigma / from;
    const double alpha = next / to;
    const double r = noise_scale(to) / noise_scale(from);
    std::vector<Term> terms{{static_cast<float>(alpha / alpha_from * r), x}, {static_cast<float>(alpha * (1.0 - r)), denoised}};
    if (old_denoised.defined()) {
      const Integrals integrals = integrate(from, to);
      const double length = to - from;
      const auto per_lambda = static_cast<float>(1.0 / (from - lambdas[i - 1]));
      const Tensor derivative = combine({{per_lambda, denoised}, {-per_lambda, old_denoised}});
      terms.push_back({static_cast<float>(alpha * (length + integrals.first * noise_scale(to))), derivative});
      if (old_derivative.defined()) {
        const auto per_half = static_cast<float>(2.0 / (from - lambdas[i - 2]));
        const Tensor second = combine({{per_half, derivative}, {-per_half, old_derivative}});
        terms.push_back({static_cast<float>(alpha * (length * length / 2 + integrals.second * noise_scale(to))), second});
      }
      old_derivative = derivative;
    }
    old_denoised = denoised;
    Tensor end = combine(terms);
    if (run.options.s_noise <= 0) return end;
    const double deviation = alpha * std::sqrt(std::max(0.0, to * to - from * from * r * r));
    return with_noise(run, step, 1.0F, end, static_cast<float>(deviation) * run.options.s_noise);
  });
}

}  // namespace veneer::sampling
