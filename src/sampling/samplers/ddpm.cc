// DDPM's ancestral sampling (Ho et al. 2020, algorithm 2) between any two noise levels, and multistep consistency sampling (Luo et al. 2023, LCM).
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_ddpm(SamplerRun& run) {
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const auto [i, sigma, next] = step;
    const Tensor eps = slope(x, sigma, denoised);
    const float alpha_bar = 1.0F / (sigma * sigma + 1.0F);
    const float alpha_bar_next = 1.0F / (next * next + 1.0F);
    const float alpha = alpha_bar / alpha_bar_next;
    // The paper's latents keep unit variance: x / sqrt(1 + sigma^2), and back for the next level.
    const float back = next == 0.0F ? 1.0F : std::sqrt(1.0F + next * next);
    const float root = std::sqrt(1.0F / alpha) * back;
    std::vector<Term> terms{{root / std::sqrt(1.0F + sigma * sigma), x}, {-root * (1.0F - alpha) / std::sqrt(1.0F - alpha_bar), eps}};
    if (next > 0.0F) {
      const float variance = (1.0F - alpha) * (1.0F - alpha_bar_next) / (1.0F - alpha_bar);
      terms.push_back({std::sqrt(variance) * back, run.noise->draw(sigma, next)});
    }
    return combine(terms);
  });
}

Tensor sample_lcm(SamplerRun& run) {
  return each_step(run, [&](const SamplerStep& step, const Tensor& /*x*/, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    return run.model.model_sampling().noise_scaling({&step.next, 1}, run.noise->draw(step.sigma, step.next), denoised, false);
  });
}

}  // namespace veneer::sampling
