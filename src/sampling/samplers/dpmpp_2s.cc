// DPM-Solver++(2S) (Lu et al. 2022, "DPM-Solver++", algorithm 1) with ancestral noise: an exponential integrator that looks half way of each step.
#include <cmath>

#include "sampling/samplers/each_step.h"
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
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const FlowAncestralStep part = flow_ancestral_step(step.sigma, step.next, eta);
    const float middle = flow_middle(step.sigma, part.down);
    const Tensor half_way = combine({{middle / step.sigma, x}, {1.0F - middle / step.sigma, denoised}});
    const Tensor denoised_2 = evaluate(run, half_way, middle);
    const Tensor down = combine({{part.down / step.sigma, x}, {1.0F - part.down / step.sigma, denoised_2}});
    return eta > 0 ? with_noise(run, step, part.signal, down, run.options.s_noise * part.up) : down;
  });
}

// `cfg_pp`: the state is moved by the difference of the guided and the unconditional prediction, so that the noise direction is the latter's. For the
// whole step it is the first guided against the second unconditional one, as in the reference.
Tensor dpmpp_2s_ancestral(SamplerRun& run, bool cfg_pp) {
  const float eta = run.options.eta.value_or(1.0F);
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const auto start = [&] { return cfg_pp ? combine({{1.0F, x}, {1.0F, denoised}, {-1.0F, run.model.last_uncond()}}) : x; };
    const AncestralStep part = ancestral_step(step.sigma, step.next, eta);
    Tensor down = denoised;
    if (part.down != 0.0F) {
      const float t = -std::log(step.sigma);
      const float h = -std::log(part.down) - t;
      const float middle = std::exp(-(t + 0.5F * h));
      const Tensor half_way = combine({{middle / step.sigma, start()}, {-std::expm1(-0.5F * h), denoised}});
      const Tensor denoised_2 = evaluate(run, half_way, middle);
      down = combine({{part.down / step.sigma, start()}, {-std::expm1(-h), denoised_2}});
    }
    return step.next > 0.0F ? with_noise(run, step, 1.0F, down, run.options.s_noise * part.up) : down;
  });
}

}  // namespace

Tensor sample_dpmpp_2s_ancestral(SamplerRun& run) {
  return run.model.model_sampling().is_flow() ? dpmpp_2s_ancestral_flow(run) : dpmpp_2s_ancestral(run, false);
}

Tensor sample_dpmpp_2s_ancestral_cfg_pp(SamplerRun& run) { return dpmpp_2s_ancestral(run, true); }

}  // namespace veneer::sampling
