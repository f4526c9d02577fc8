// The midpoint method in log sigma: DPM-Solver-2 (Lu et al. 2022, "DPM-Solver", algorithm 1) as Karras et al. 2022 write it, and its ancestral form.
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// One step from sigma to `to`, with the slope taken half way in log sigma; that is infinitely far from 0, to which `first` leads, the slope at sigma.
Tensor step_to(SamplerRun& run, const Tensor& x, float sigma, float to, const Tensor& first) {
  if (to == 0.0F) return combine({{1.0F, x}, {to - sigma, first}});
  // For ancestral steps the middle is the next sigma, which may lie on the border between two of the network's timesteps: the order of the
  // operations decides which one it gets.
  const float log_to = std::log(to);
  const float middle = std::exp(log_to - 0.5F * (log_to - std::log(sigma)));
  const Tensor half_way = combine({{1.0F, x}, {middle - sigma, first}});
  const Tensor second = slope(half_way, middle, evaluate(run, half_way, middle));
  return combine({{1.0F, x}, {to - sigma, second}});
}

}  // namespace

Tensor sample_dpm_2(SamplerRun& run) {
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    return step_to(run, x, step.sigma, step.next, slope(x, step.sigma, denoised));
  });
}

Tensor sample_dpm_2_ancestral(SamplerRun& run) {
  const float eta = run.options.eta.value_or(1.0F);
  const bool flow = run.model.model_sampling().is_flow();
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    FlowAncestralStep part{};
    if (flow) {
      part = flow_ancestral_step(step.sigma, step.next, eta);
    } else {
      const AncestralStep exploding = ancestral_step(step.sigma, step.next, eta);
      part = {exploding.down, 1.0F, exploding.up};
    }
    const Tensor down = step_to(run, x, step.sigma, part.down, slope(x, step.sigma, denoised));
    return step.next > 0.0F ? with_noise(run, step, part.signal, down, run.options.s_noise * part.up) : down;
  });
}

}  // namespace veneer::sampling
