// RES multistep (Zhang et al. 2023, "Improved Order Analysis and Design of Exponential Integrator for Diffusion Models Sampling"): second order from
// the previous prediction, with or without ancestral noise and CFG++.
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

float zero_if_nan(float value) { return std::isnan(value) ? 0.0F : value; }

Tensor res_multistep(SamplerRun& run, float eta, bool cfg_pp) {
  Tensor old_prediction;
  float old_down = 0;
  return each_step(run, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    // What is integrated: with CFG++ the unconditional prediction.
    const Tensor prediction = cfg_pp ? run.model.last_uncond() : denoised;
    const AncestralStep part = ancestral_step(step.sigma, step.next, eta);
    Tensor down;
    if (part.down == 0.0F || !old_prediction.defined()) {
      const Tensor direction = slope(x, step.sigma, prediction);
      down = cfg_pp ? combine({{1.0F, denoised}, {part.down, direction}}) : combine({{1.0F, x}, {part.down - step.sigma, direction}});
    } else {
      const float t = -std::log(step.sigma);
      const float h = -std::log(part.down) - t;
      // Where the old prediction lies relative to where the last step ended, in units of this step.
      const float c2 = (-std::log(run.sigmas[step.index - 1]) + std::log(old_down)) / h;
      const float phi_1 = std::expm1(-h) / -h;
      const float phi_2 = (phi_1 - 1.0F) / -h;
      const float b1 = zero_if_nan(phi_1 - phi_2 / c2);
      const float b2 = zero_if_nan(phi_2 / c2);
      const float kept = std::exp(-h);
      std::vector<Term> terms{{kept, x}, {h * b1, prediction}, {h * b2, old_prediction}};
      if (cfg_pp) {
        terms.push_back({kept, denoised});
        terms.push_back({-kept, prediction});
      }
      down = combine(terms);
    }
    old_prediction = prediction;
    old_down = part.down;
    return step.next > 0.0F ? with_noise(run, step, 1.0F, down, run.options.s_noise * part.up) : down;
  });
}

}  // namespace

Tensor sample_res_multistep(SamplerRun& run) { return res_multistep(run, run.options.eta.value_or(0.0F), false); }

Tensor sample_res_multistep_cfg_pp(SamplerRun& run) { return res_multistep(run, run.options.eta.value_or(0.0F), true); }

Tensor sample_res_multistep_ancestral(SamplerRun& run) { return res_multistep(run, run.options.eta.value_or(1.0F), false); }

Tensor sample_res_multistep_ancestral_cfg_pp(SamplerRun& run) { return res_multistep(run, run.options.eta.value_or(1.0F), true); }

}  // namespace veneer::sampling
