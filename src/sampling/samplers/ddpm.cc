// DDPM's ancestral sampling (Ho et al. 2020, algorithm 2) between any two noise levels, and multistep consistency sampling (Luo et al. 2023, LCM).
#include <cmath>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_ddpm(SamplerRun& run) {
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
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
    x = combine(terms);
  }
  return x;
}

Tensor sample_lcm(SamplerRun& run) {
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    x = next > 0.0F ? run.model.model_sampling().noise_scaling({&next, 1}, run.noise->draw(sigma, next), denoised, false) : denoised;
  }
  return x;
}

}  // namespace veneer::sampling
