// The loop of samplers that look at the start of each step: one evaluation, its report, then the sampler's own way to the next noise level.
#pragma once

#include <span>

#include "sampling/sampler.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

struct SamplerStep {
  size_t index;
  float sigma;  // where the step begins
  float next;   // where it ends; 0 at the end of a full run
};

// Walks from run.x along `sigmas`: the run's own, or as many others. `advance(step, x, denoised)` gives the latents at the end of a step from those
// at its beginning and the prediction there. Returns the last latents.
template <typename Advance>
Tensor each_step(SamplerRun& run, std::span<const float> sigmas, Advance advance) {
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const Tensor denoised = evaluate(run, x, sigmas[i]);
    report(run, i, x, denoised);
    x = advance(SamplerStep{i, sigmas[i], sigmas[i + 1]}, x, denoised);
  }
  return x;
}
template <typename Advance>
Tensor each_step(SamplerRun& run, Advance advance) {
  return each_step(run, run.sigmas, advance);
}

// keep * x + deviation * noise, with the sampler's fresh noise for the step.
inline Tensor with_noise(const SamplerRun& run, const SamplerStep& step, float keep, const Tensor& x, float deviation) {
  return combine({{keep, x}, {deviation, run.noise->draw(step.sigma, step.next)}});
}

}  // namespace veneer::sampling
