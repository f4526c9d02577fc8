// Euler's method on the probability-flow ODE (Karras et al. 2022, algorithm 1 without churn), its ancestral form (Song et al. 2020, variance
// exploding), and CFG++ (Chung et al. 2024), which takes the noise direction from the unconditional prediction.
#include <cmath>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

Tensor euler_ancestral_flow(SamplerRun& run) {
  const float eta = run.options.eta.value_or(1.0F);
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    if (next == 0.0F) {
      x = denoised;
      continue;
    }
    const FlowAncestralStep step = flow_ancestral_step(sigma, next, eta);
    const float ratio = step.down / sigma;
    x = combine({{ratio, x}, {1.0F - ratio, denoised}});
    if (eta > 0) x = combine({{step.signal, x}, {run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

Tensor euler_cfg_pp(SamplerRun& run, float eta) {
  const ModelSampling& model_sampling = run.model.model_sampling();
  // In the scaling of the model's noise levels, the signal at sigma.
  const auto alpha = [&](float sigma) { return sigma * std::exp(model_sampling.half_log_snr(sigma)); };
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    const Tensor uncond = run.model.last_uncond();
    report(run, i, x, denoised);
    if (next == 0.0F) {
      x = denoised;
      continue;
    }
    const float alpha_from = alpha(sigma);
    const float alpha_to = alpha(next);
    const Tensor noise_direction = slope(x, sigma, combine({{alpha_from, uncond}}));
    const AncestralStep step = ancestral_step(sigma / alpha_from, next / alpha_to, eta);
    x = combine({{alpha_to, denoised}, {alpha_to * step.down, noise_direction}});
    if (eta > 0) x = combine({{1.0F, x}, {alpha_to * run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

}  // namespace

Tensor sample_euler(SamplerRun& run) {
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    x = combine({{1.0F, x}, {run.sigmas[i + 1] - sigma, slope(x, sigma, denoised)}});
  }
  return x;
}

Tensor sample_euler_ancestral(SamplerRun& run) {
  if (run.model.model_sampling().is_flow()) return euler_ancestral_flow(run);
  const float eta = run.options.eta.value_or(1.0F);
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    const AncestralStep step = ancestral_step(sigma, next, eta);
    if (step.down == 0.0F) {
      x = denoised;
    } else {
      x = combine({{1.0F, x}, {step.down - sigma, slope(x, sigma, denoised)}});
    }
    if (next > 0.0F) x = combine({{1.0F, x}, {run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

Tensor sample_euler_cfg_pp(SamplerRun& run) { return euler_cfg_pp(run, 0.0F); }

Tensor sample_euler_ancestral_cfg_pp(SamplerRun& run) { return euler_cfg_pp(run, run.options.eta.value_or(1.0F)); }

}  // namespace veneer::sampling
