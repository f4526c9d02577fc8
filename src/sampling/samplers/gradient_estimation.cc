// Gradient estimation (Permenter and Yuan 2023, "Interpreting and Improving Diffusion Models from an Optimization Perspective"): Euler's method with
// a slope that is extrapolated from the last one, gamma = 2.
#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

Tensor gradient_estimation(SamplerRun& run, bool cfg_pp) {
  constexpr float kGamma = 2.0F;
  Tensor old_direction;
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const Tensor direction = slope(x, step.sigma, cfg_pp ? run.model.last_uncond() : denoised);
    const float length = step.next - step.sigma;
    std::vector<Term> terms;
    if (cfg_pp) {
      terms = {{1.0F, denoised}, {step.next, direction}};
    } else {
      terms = {{1.0F, x}, {length, direction}};
    }
    if (old_direction.defined()) {
      terms.push_back({length * (kGamma - 1.0F), direction});
      terms.push_back({-length * (kGamma - 1.0F), old_direction});
    }
    old_direction = direction;
    return combine(terms);
  });
}

}  // namespace

Tensor sample_gradient_estimation(SamplerRun& run) { return gradient_estimation(run, false); }

Tensor sample_gradient_estimation_cfg_pp(SamplerRun& run) { return gradient_estimation(run, true); }

}  // namespace veneer::sampling
