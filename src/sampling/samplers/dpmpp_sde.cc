// DPM-Solver++ for the diffusion SDE (Lu et al. 2022, "DPM-Solver++", section 6 and appendix): single-step with a look half way (dpmpp_sde), and
// multistep of order 2 and 3. Time is lambda = log(alpha/sigma); eta scales the noise.
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// The part of a step that every order has, over h in lambda: decay, first-order term, and noise.
struct SdeStep {
  float h;
  float h_eta;  // h * (1 + eta)
  float alpha;  // signal at the end
  float kept;   // factor of x
  float noise;  // deviation of the fresh noise
};

SdeStep sde_step(const ModelSampling& model_sampling, float sigma, float next, float eta) {
  const float from = model_sampling.half_log_snr(sigma);
  const float to = model_sampling.half_log_snr(next);
  const float h = to - from;
  return {h, h * (eta + 1.0F), next * std::exp(to), next / sigma * std::exp(-h * eta), next * std::sqrt(-std::expm1(-2.0F * h * eta))};
}

// How the second-order term of 2M is weighed.
enum class Solver { midpoint, heun };

Tensor dpmpp_2m_sde(SamplerRun& run, Solver solver) {
  const float eta = run.options.eta.value_or(1.0F);
  const std::vector<float> sigmas = sigmas_with_finite_snr(run);
  const bool noisy = eta > 0 && run.options.s_noise > 0;
  Tensor old_denoised;
  float last_h = 0;
  return each_step(run, sigmas, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const SdeStep part = sde_step(run.model.model_sampling(), step.sigma, step.next, eta);
    const float weight = -std::expm1(-part.h_eta);
    std::vector<Term> terms{{part.kept, x}, {part.alpha * weight, denoised}};
    if (old_denoised.defined()) {
      const float share = solver == Solver::heun ? weight / -part.h_eta + 1.0F : 0.5F * weight;
      const float bend = part.alpha * share * (part.h / last_h);
      terms.push_back({bend, denoised});
      terms.push_back({-bend, old_denoised});
    }
    old_denoised = denoised;
    last_h = part.h;
    const Tensor end = combine(terms);
    return noisy ? with_noise(run, step, 1.0F, end, part.noise * run.options.s_noise) : end;
  });
}

}  // namespace

Tensor sample_dpmpp_sde(SamplerRun& run) {
  const ModelSampling& model_sampling = run.model.model_sampling();
  const float eta = run.options.eta.value_or(1.0F);
  const float r = run.options.r;
  const bool noisy = eta > 0 && run.options.s_noise > 0;
  const float second_share = 1.0F / (2.0F * r);
  const std::vector<float> sigmas = sigmas_with_finite_snr(run);
  return each_step(run, sigmas, [&](const SamplerStep& at, const Tensor& x, const Tensor& denoised) {
    const float sigma = at.sigma;
    const float next = at.next;
    if (next == 0.0F) return denoised;
    const float from = model_sampling.half_log_snr(sigma);
    const float to = model_sampling.half_log_snr(next);
    const float middle = from + r * (to - from);
    const float sigma_middle = model_sampling.sigma_of_half_log_snr(middle);
    const float alpha_from = sigma * std::exp(from);
    // The ancestral step to `lambda`, from the start of the step, with the prediction `d`.
    const auto step_to = [&](float lambda, float alpha, float sigma_to, const Tensor& d) {
      const AncestralStep step = ancestral_step(std::exp(-from), std::exp(-lambda), eta);
      const float h = -std::log(step.down) - from;
      Tensor y = combine({{alpha / alpha_from * std::exp(-h), x}, {-alpha * std::expm1(-h), d}});
      if (noisy) y = combine({{1.0F, y}, {alpha * run.options.s_noise * step.up, run.noise->draw(sigma, sigma_to)}});
      return y;
    };
    const Tensor half_way = step_to(middle, sigma_middle * std::exp(middle), sigma_middle, denoised);
    const Tensor denoised_2 = evaluate(run, half_way, sigma_middle);
    return step_to(to, next * std::exp(to), next, combine({{1.0F - second_share, denoised}, {second_share, denoised_2}}));
  });
}

Tensor sample_dpmpp_2m_sde(SamplerRun& run) { return dpmpp_2m_sde(run, Solver::midpoint); }

Tensor sample_dpmpp_2m_sde_heun(SamplerRun& run) { return dpmpp_2m_sde(run, Solver::heun); }

Tensor sample_dpmpp_3m_sde(SamplerRun& run) {
  const float eta = run.options.eta.value_or(1.0F);
  const bool noisy = eta > 0 && run.options.s_noise > 0;
  const std::vector<float> sigmas = sigmas_with_finite_snr(run);
  // The two predictions before, and the lengths of the steps from them.
  Tensor denoised_1;
  Tensor denoised_2;
  float h_1 = 0;
  float h_2 = 0;
  return each_step(run, sigmas, [&](const SamplerStep& step, const Tensor& x, const Tensor& denoised) {
    if (step.next == 0.0F) return denoised;
    const SdeStep part = sde_step(run.model.model_sampling(), step.sigma, step.next, eta);
    std::vector<Term> terms{{part.kept, x}, {-part.alpha * std::expm1(-part.h_eta), denoised}};
    const float phi_2 = std::expm1(-part.h_eta) / part.h_eta + 1.0F;
    if (denoised_2.defined()) {
      // First and second derivative in lambda from divided differences.
      const float r0 = h_1 / part.h;
      const float r1 = h_2 / part.h;
      const Tensor near = combine({{1.0F / r0, denoised}, {-1.0F / r0, denoised_1}});
      const Tensor far = combine({{1.0F / r1, denoised_1}, {-1.0F / r1, denoised_2}});
      const float phi_3 = phi_2 / part.h_eta - 0.5F;
      const float first = part.alpha * phi_2;
      const float second = part.alpha * phi_3 / (r0 + r1);
      const float mixed = first * r0 / (r0 + r1) - second;
      terms.push_back({first + mixed, near});
      terms.push_back({-mixed, far});
    } else if (denoised_1.defined()) {
      const float bend = part.alpha * phi_2 / (h_1 / part.h);
      terms.push_back({bend, denoised});
      terms.push_back({-bend, denoised_1});
    }
    denoised_2 = denoised_1;
    denoised_1 = denoised;
    h_2 = h_1;
    h_1 = part.h;
    const Tensor end = combine(terms);
    return noisy ? with_noise(run, step, 1.0F, end, part.noise * run.options.s_noise) : end;
  });
}

}  // namespace veneer::sampling
