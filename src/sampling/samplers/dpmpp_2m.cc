// DPM-Solver++(2M) (Lu et al. 2022, "DPM-Solver++", algorithm 2): second order from the previous prediction, one evaluation per step; and its CFG++
// form, which extrapolates the unconditional prediction.
#include <cmath>
#include <utility>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_dpmpp_2m(SamplerRun& run) {
  Tensor old_denoised;
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const auto [i, sigma, next] = step;
    const float h = std::log(sigma) - std::log(next);  // infinite at the last step: exp(-h) is 0
    const float weight = -std::expm1(-h);
    const Tensor old = std::exchange(old_denoised, denoised);
    if (!old.defined() || next == 0.0F) return combine({{next / sigma, x}, {weight, denoised}});
    const float last_h = std::log(run.sigmas[i - 1]) - std::log(sigma);
    const float bend = 1.0F / (2.0F * (last_h / h));
    return combine({{next / sigma, x}, {weight * (1.0F + bend), denoised}, {-weight * bend, old}});
  });
}

Tensor sample_dpmpp_2m_cfg_pp(SamplerRun& run) {
  Tensor old_uncond;
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const auto [i, sigma, next] = step;
    const Tensor uncond = run.model.last_uncond();
    const float h = std::log(sigma) - std::log(next);
    const float kept = std::exp(-h);
    std::vector<Term> terms{{1.0F, denoised}, {-kept, uncond}, {kept, x}};
    if (old_uncond.defined() && next != 0.0F) {
      const float last_h = std::log(run.sigmas[i - 1]) - std::log(sigma);
      const float bend = -std::expm1(-h) / (2.0F * (last_h / h));
      terms.push_back({bend, denoised});
      terms.push_back({-bend, old_uncond});
    }
    old_uncond = uncond;
    return combine(terms);
  });
}

}  // namespace veneer::sampling
