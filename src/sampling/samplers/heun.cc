// Heun's second-order method (Karras et al. 2022, algorithm 1 without churn) and Heun++ (Oh et al. 2024), which weighs up to three slopes.
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_heun(SamplerRun& run) {
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float sigma = run.sigmas[i];
    const float next = run.sigmas[i + 1];
    const float length = next - sigma;
    const Tensor denoised = evaluate(run, x, sigma);
    report(run, i, x, denoised);
    const Tensor first = slope(x, sigma, denoised);
    const Tensor end = combine({{1.0F, x}, {length, first}});
    if (next == 0.0F) {
      x = end;
      continue;
    }
    const Tensor second = slope(end, next, evaluate(run, end, next));
    x = combine({{1.0F, x}, {length / 2, first}, {length / 2, second}});
  }
  return x;
}

Tensor sample_heunpp2(SamplerRun& run) {
  const auto sigmas = run.sigmas;
  const float last = sigmas.back();
  Tensor x = run.x;
  for (size_t i = 0; i < num_steps(run); ++i) {
    const float next = sigmas[i + 1];
    const float length = next - sigmas[i];
    const Tensor denoised = evaluate(run, x, sigmas[i]);
    report(run, i, x, denoised);
    const Tensor first = slope(x, sigmas[i], denoised);
    const Tensor end = combine({{1.0F, x}, {length, first}});
    if (next == last) {
      x = end;
      continue;
    }
    const Tensor second = slope(end, next, evaluate(run, end, next));
    const float after = sigmas[i + 2];  // exists: the last sigma is not `next`
    if (after == last) {
      const float w2 = next / (2.0F * sigmas[0]);
      x = combine({{1.0F, x}, {length * (1.0F - w2), first}, {length * w2, second}});
      continue;
    }
    const Tensor beyond = combine({{1.0F, end}, {after - next, second}});
    const Tensor third = slope(beyond, after, evaluate(run, beyond, after));
    const float w2 = next / (3.0F * sigmas[0]);
    const float w3 = after / (3.0F * sigmas[0]);
    x = combine({{1.0F, x}, {length * (1.0F - w2 - w3), first}, {length * w2, second}, {length * w3, third}});
  }
  return x;
}

}  // namespace veneer::sampling
