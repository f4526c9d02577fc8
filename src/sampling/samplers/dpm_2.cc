// The midpoint method in log sigma: DPM-Solver-2 (Lu et al. 2022, "DPM-Solver", algorithm 1) as Karras et al. 2022 write it, and its ancestral form.
#include <cmath>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// One step from sigma to `to` > 0 with the slope taken half way in log sigma.
Tensor midpoint_step(SamplerRun& run, const Tensor& x, float sigma, float to, const Tensor& first) {
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
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    const Tensor first = slope(x, sigma, denoised);
    x = next == 0.0F ? combine({{1.0F, x}, {next - sigma, first}}) : midpoint_step(run, x, sigma, next, first);
  }
  return x;
}

Tensor sample_dpm_2_ancestral(SamplerRun& run) {
  const float eta = run.options.eta.value_or(1.0F);
  const bool flow = run.model.model_sampling().is_flow();
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    FlowAncestralStep step{};
    if (flow) {
      step = flow_ancestral_step(sigma, next, eta);
    } else {
      const AncestralStep exploding = ancestral_step(sigma, next, eta);
      step = {exploding.down, 1.0F, exploding.up};
    }
    const Tensor first = slope(x, sigma, denoised);
    if (step.down == 0.0F) {
      x = combine({{1.0F, x}, {step.down - sigma, first}});
      if (next == 0.0F) continue;
    } else {
      x = midpoint_step(run, x, sigma, step.down, first);
    }
    x = combine({{step.signal, x}, {run.options.s_noise * step.up, run.noise->draw(sigma, next)}});
  }
  return x;
}

}  // namespace veneer::sampling
