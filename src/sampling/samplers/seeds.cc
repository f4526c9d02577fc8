// SEEDS-2 and SEEDS-3 (Gonzalez et al. 2023, "SEEDS: Exponential SDE Solvers for Fast High-Quality Sampling from Diffusion Models"): single-step
// stochastic exponential integrators with two or three evaluations, whose noises are shared between the stages of a step.
#include <cmath>

#include "sampling/samplers/each_step.h"
#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

// One step in lambda = log(alpha/sigma), from `from` over h.
class Stages {
 public:
  Stages(const SamplerRun& run, float sigma, float next)
      : model_sampling_(run.model.model_sampling()),
        sigma_(sigma),
        eta_(run.options.eta.value_or(1.0F)),
        s_noise_(run.options.s_noise),
        from_(model_sampling_.half_log_snr(sigma)),
        h_(model_sampling_.half_log_snr(next) - from_),
        next_(next) {}

  // The noise level after the share r of the step.
  float sigma(float r) const { return r == 1.0F ? next_ : model_sampling_.sigma_of_half_log_snr(from_ + r * h_); }
  // What is left of x, and the signal gained, after the share r.
  float kept(float r) const { return sigma(r) / sigma_ * std::exp(-r * h_ * eta_); }
  float alpha(float r) const { return r == 1.0F ? next_ * std::exp(from_ + h_) : sigma(r) * std::exp(from_ + r * h_); }
  float gain(float r) const { return -alpha(r) * std::expm1(-r * h_ * (eta_ + 1.0F)); }
  // Weight of the prediction's change over the share `base` in the stage that ends at r.
  float bend(float r, float base) const {
    const float x = r * h_ * (eta_ + 1.0F);
    return r / base * alpha(r) * (std::expm1(-x) / x + 1.0F);
  }
  // Deviation, at the end of the stage r, of the noise that came in between the shares `a` and `b` of the step.
  float noise(float r, float a, float b) const {
    const float late = std::expm1(-2.0F * (r - b) * h_ * eta_);
    const float early = std::expm1(-2.0F * (r - a) * h_ * eta_);
    return sigma(r) * s_noise_ * std::sqrt(late - early);
  }
  bool noisy() const { return eta_ > 0 && s_noise_ > 0; }

 private:
  const ModelSampling& model_sampling_;
  float sigma_;
  float eta_;
  float s_noise_;
  float from_;
  float h_;
  float next_;
};

Tensor seeds_2_step(SamplerRun& run, const Stages& stages, const Tensor& x, float sigma, const Tensor& denoised) {
  const float r = run.options.r;
  const float middle = stages.sigma(r);
  Tensor noise_1;
  Tensor noise_2;
  std::vector<Term> terms{{stages.kept(r), x}, {stages.gain(r), denoised}};
  if (stages.noisy()) {
    noise_1 = run.noise->draw(sigma, middle);
    noise_2 = run.noise->draw(middle, stages.sigma(1.0F));
    terms.push_back({stages.noise(r, 0.0F, r), noise_1});
  }
  const Tensor denoised_2 = evaluate(run, combine(terms), middle);
  const float second_share = 1.0F / (2.0F * r);
  terms = {{stages.kept(1.0F), x}, {stages.gain(1.0F) * (1.0F - second_share), denoised}, {stages.gain(1.0F) * second_share, denoised_2}};
  if (stages.noisy()) {
    terms.push_back({stages.noise(1.0F, 0.0F, r), noise_1});
    terms.push_back({stages.noise(1.0F, r, 1.0F), noise_2});
  }
  return combine(terms);
}

Tensor seeds_3_step(SamplerRun& run, const Stages& stages, const Tensor& x, float sigma, const Tensor& denoised) {
  constexpr float kR1 = 1.0F / 3.0F;
  constexpr float kR2 = 2.0F / 3.0F;
  const float sigma_1 = stages.sigma(kR1);
  const float sigma_2 = stages.sigma(kR2);
  Tensor noise_1;
  Tensor noise_2;
  Tensor noise_3;
  std::vector<Term> terms{{stages.kept(kR1), x}, {stages.gain(kR1), denoised}};
  if (stages.noisy()) {
    noise_1 = run.noise->draw(sigma, sigma_1);
    noise_2 = run.noise->draw(sigma_1, sigma_2);
    noise_3 = run.noise->draw(sigma_2, stages.sigma(1.0F));
    terms.push_back({stages.noise(kR1, 0.0F, kR1), noise_1});
  }
  const Tensor denoised_2 = evaluate(run, combine(terms), sigma_1);

  const float bend_2 = stages.bend(kR2, kR1);
  terms = {{stages.kept(kR2), x}, {stages.gain(kR2) - bend_2, denoised}, {bend_2, denoised_2}};
  if (stages.noisy()) {
    terms.push_back({stages.noise(kR2, 0.0F, kR1), noise_1});
    terms.push_back({stages.noise(kR2, kR1, kR2), noise_2});
  }
  const Tensor denoised_3 = evaluate(run, combine(terms), sigma_2);

  const float bend_3 = stages.bend(1.0F, kR2);
  terms = {{stages.kept(1.0F), x}, {stages.gain(1.0F) - bend_3, denoised}, {bend_3, denoised_3}};
  if (stages.noisy()) {
    terms.push_back({stages.noise(1.0F, 0.0F, kR1), noise_1});
    terms.push_back({stages.noise(1.0F, kR1, kR2), noise_2});
    terms.push_back({stages.noise(1.0F, kR2, 1.0F), noise_3});
  }
  return combine(terms);
}

template <typename Step>
Tensor seeds(SamplerRun& run, const Step& step) {
  const std::vector<float> sigmas = sigmas_with_finite_snr(run);
  return each_step(run, sigmas, [&](const SamplerStep& at, const Tensor& x, const Tensor& denoised) {
    return at.next == 0.0F ? denoised : step(run, Stages(run, at.sigma, at.next), x, at.sigma, denoised);
  });
}

}  // namespace

Tensor sample_seeds_2(SamplerRun& run) { return seeds(run, seeds_2_step); }

Tensor sample_seeds_3(SamplerRun& run) { return seeds(run, seeds_3_step); }

}  // namespace veneer::sampling
