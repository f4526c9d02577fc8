// Gradient estimation (Permenter and Yuan 2023, "Interpreting and Improving Diffusion Models from an Optimization Perspective"): Euler's method with
// a slope that is extrapolated from the last one, gamma = 2.
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

Tensor gradient_estimation(SamplerRun& run, bool cfg_pp) {
  constexpr float kGamma = 2.0F;
  Tensor x = run.x;
  Tensor old_direction;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    const Tensor direction = slope(x, sigma, cfg_pp ? run.model.last_uncond() : denoised);
    report(run, i, x, denoised);
    if (next == 0.0F) {
      x = denoised;
    } else {
      const float length = next - sigma;
      std::vector<Term> terms;
      if (cfg_pp) {
        terms = {{1.0F, denoised}, {next, direction}};
      } else {
        terms = {{1.0F, x}, {length, direction}};
      }
      if (old_direction.defined()) {
        terms.push_back({length * (kGamma - 1.0F), direction});
        terms.push_back({-length * (kGamma - 1.0F), old_direction});
      }
      x = combine(terms);
    }
    old_direction = direction;
  }
  return x;
}

}  // namespace

Tensor sample_gradient_estimation(SamplerRun& run) { return gradient_estimation(run, false); }

Tensor sample_gradient_estimation_cfg_pp(SamplerRun& run) { return gradient_estimation(run, true); }

}  // namespace veneer::sampling
