// Euler's method on the probability-flow ODE (Karras et al. 2022, algorithm 1 without churn), its ancestral form (Song et al. 2020, variance
// exploding), and CFG++ (Chung et al. 2024), which takes the noise direction from the unconditional prediction.
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

Tensor euler_ancestral_flow(SamplerRun& run) {
  const float eta = run.options.eta.value_or(1.0F);
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const FlowAncestralStep part = flow_ancestral_step(step.sigma, step.next, eta);
    const float ratio = part.down / step.sigma;
    const Tensor down = combine({{ratio, x}, {1.0F - ratio, denoised}});
    return eta > 0 ? with_noise(run, step, part.signal, down, run.options.s_noise * part.up) : down;
  });
}

Tensor euler_cfg_pp(SamplerRun& run, float eta) {
  const ModelSampling& model_sampling = run.model.model_sampling();
  // In the scaling of the model's noise levels, the signal at sigma.
  const auto alpha = [&](float sigma) { return sigma * std::exp(model_sampling.half_log_snr(sigma)); };
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const float alpha_from = alpha(step.sigma);
    const float alpha_to = alpha(step.next);
    const Tensor noise_direction = slope(x, step.sigma, combine({{alpha_from, run.model.last_uncond()}}));
    const AncestralStep part = ancestral_step(step.sigma / alpha_from, step.next / alpha_to, eta);
    const Tensor down = combine({{alpha_to, denoised}, {alpha_to * part.down, noise_direction}});
    return eta > 0 ? with_noise(run, step, 1.0F, down, alpha_to * run.options.s_noise * part.up) : down;
  });
}

}  // namespace

Tensor sample_euler(SamplerRun& run) {
  return each_step(run, [](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    return combine({{1.0F, x}, {step.next - step.sigma, slope(x, step.sigma, denoised)}});
  });
}

Tensor sample_euler_ancestral(SamplerRun& run) {
  if (run.model.model_sampling().is_flow()) return euler_ancestral_flow(run);
  const float eta = run.options.eta.value_or(1.0F);
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const AncestralStep part = ancestral_step(step.sigma, step.next, eta);
    const Tensor down = part.down == 0.0F ? denoised : combine({{1.0F, x}, {part.down - step.sigma, slope(x, step.sigma, denoised)}});
    return step.next > 0.0F ? with_noise(run, step, 1.0F, down, run.options.s_noise * part.up) : down;
  });
}

Tensor sample_euler_cfg_pp(SamplerRun& run) { return euler_cfg_pp(run, 0.0F); }

Tensor sample_euler_ancestral_cfg_pp(SamplerRun& run) { return euler_cfg_pp(run, run.options.eta.value_or(1.0F)); }

}  // namespace veneer::sampling
