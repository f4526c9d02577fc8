// DPM-Solver++(2S) (Lu et al. 2022, "DPM-Solver++", algorithm 1) with ancestral noise: an exponential integrator that looks half way of each step.
#include <cmath>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// Half way from sigma to `down` in half-log-SNR of rectified flow. At sigma 1 that time is infinite; a level just below stands in.
float flow_middle(float sigma, float down) {
  if (sigma == 1.0F) return 0.9999F;
  const auto time = [](float s) { return std::log((1.0F - s) / s); };
  const float middle = time(sigma) + 0.5F * (time(down) - time(sigma));
  return 1.0F / (std::exp(middle) + 1.0F);
}

Tensor dpmpp_2s_ancestral_flow(SamplerRun& run) {
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
    const float middle = flow_middle(sigma, step.down);
    const Tensor half_way = combine({{middle / sigma, x}, {1.0F - middle / sigma, denoised}});
    const Tensor denoised_2 = evaluate(run, half_way, middle);
    x = combine({{step.down / sigma, x}, {1.0F - step.down / sigma, denoised_2}});
    if (eta > 0) x = combine({{step.signal, x}, {run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

// `cfg_pp`: the state is moved by the difference of the guided and the unconditional prediction, so that the noise direction is the latter's. For the
// whole step it is the first guided against the second unconditional one, as in the reference.
Tensor dpmpp_2s_ancestral(SamplerRun& run, bool cfg_pp) {
  const float eta = run.options.eta.value_or(1.0F);
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    const auto start = [&] { return cfg_pp ? combine({{1.0F, x}, {1.0F, denoised}, {-1.0F, run.model.last_uncond()}}) : x; };
    report(run, i, x, denoised);
    const AncestralStep step = ancestral_step(sigma, next, eta);
    if (step.down == 0.0F) {
      x = denoised;
    } else {
      const float t = -std::log(sigma);
      const float h = -std::log(step.down) - t;
      const float middle = std::exp(-(t + 0.5F * h));
      const Tensor half_way = combine({{middle / sigma, start()}, {-std::expm1(-0.5F * h), denoised}});
      const Tensor denoised_2 = evaluate(run, half_way, middle);
      x = combine({{step.down / sigma, start()}, {-std::expm1(-h), denoised_2}});
    }
    if (next > 0.0F) x = combine({{1.0F, x}, {run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

}  // namespace

Tensor sample_dpmpp_2s_ancestral(SamplerRun& run) {
  return run.model.model_sampling().is_flow() ? dpmpp_2s_ancestral_flow(run) : dpmpp_2s_ancestral(run, false);
}

Tensor sample_dpmpp_2s_ancestral_cfg_pp(SamplerRun& run) { return dpmpp_2s_ancestral(run, true); }

}  // namespace veneer::sampling
