// DPM-Solver++(2M) (Lu et al. 2022, "DPM-Solver++", algorithm 2): second order from the previous prediction, one evaluation per step; and its CFG++
// form, which extrapolates the unconditional prediction.
#include <cmath>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_dpmpp_2m(SamplerRun& run) {
  Tensor x = run.x;
  Tensor old_denoised;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    const float h = std::log(sigma) - std::log(next);  // infinite at the last step: exp(-h) is 0
    const float weight = -std::expm1(-h);
    if (!old_denoised.defined() || next == 0.0F) {
      x = combine({{next / sigma, x}, {weight, denoised}});
    } else {
      const float last_h = std::log(run.sigmas[i - 1]) - std::log(sigma);
      const float bend = 1.0F / (2.0F * (last_h / h));
      x = combine({{next / sigma, x}, {weight * (1.0F + bend), denoised}, {-weight * bend, old_denoised}});
    }
    old_denoised = denoised;
  }
  return x;
}

Tensor sample_dpmpp_2m_cfg_pp(SamplerRun& run) {
  Tensor x = run.x;
  Tensor old_uncond;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    const Tensor uncond = run.model.last_uncond();
    report(run, i, x, denoised);
    const float h = std::log(sigma) - std::log(next);
    const float kept = std::exp(-h);
    std::vector<Term> terms{{1.0F, denoised}, {-kept, uncond}, {kept, x}};
    if (old_uncond.defined() && next != 0.0F) {
      const float last_h = std::log(run.sigmas[i - 1]) - std::log(sigma);
      const float bend = -std::expm1(-h) / (2.0F * (last_h / h));
      terms.push_back({bend, denoised});
      terms.push_back({-bend, old_uncond});
    }
    x = combine(terms);
    old_uncond = uncond;
  }
  return x;
}

}  // namespace veneer::sampling
