// Heun's second-order method (Karras et al. 2022, algorithm 1 without churn) and Heun++ (Oh et al. 2024), which weighs up to three slopes.
#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {

Tensor sample_heun(SamplerRun& run) {
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const float length = step.next - step.sigma;
    const Tensor first = slope(x, step.sigma, denoised);
    Tensor end = combine({{1.0F, x}, {length, first}});
    if (step.next == 0.0F) return end;
    const Tensor second = slope(end, step.next, evaluate(run, end, step.next));
    return combine({{1.0F, x}, {length / 2, first}, {length / 2, second}});
  });
}

Tensor sample_heunpp2(SamplerRun& run) {
  const auto sigmas = run.sigmas;
  const float last = sigmas.back();
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    const float next = step.next;
    const float length = next - step.sigma;
    const Tensor first = slope(x, step.sigma, denoised);
    Tensor end = combine({{1.0F, x}, {length, first}});
    if (next == last) return end;
    const Tensor second = slope(end, next, evaluate(run, end, next));
    const float after = sigmas[step.index + 2];  // exists: the last sigma is not `next`
    if (after == last) {
      const float w2 = next / (2.0F * sigmas[0]);
      return combine({{1.0F, x}, {length * (1.0F - w2), first}, {length * w2, second}});
    }
    const Tensor beyond = combine({{1.0F, end}, {after - next, second}});
    const Tensor third = slope(beyond, after, evaluate(run, beyond, after));
    const float w2 = next / (3.0F * sigmas[0]);
    const float w3 = after / (3.0F * sigmas[0]);
    return combine({{1.0F, x}, {length * (1.0F - w2 - w3), first}, {length * w2, second}, {length * w3, third}});
  });
}

}  // namespace veneer::sampling
