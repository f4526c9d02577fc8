// DPM-Solver (Lu et al. 2022): exponential integrators of order 1 to 3 in t = -log(sigma), with a fixed number of evaluations (dpm_fast) or steps
// chosen by an error estimate (dpm_adaptive, step-size control after Soderlind 2003).
#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

float sigma_at(float t) { return std::exp(-t); }

// Single steps from (x, t) to t_next. `eps` is the slope at (x, t).
class DpmStep {
 public:
  DpmStep(SamplerRun& run, const Tensor& x, float t) : run_(run), x_(x), t_(t), denoised_(evaluate(run, x, sigma_at(t))) {
    eps_ = slope(x, sigma_at(t), denoised_);
  }
  const Tensor& denoised() const { return denoised_; }

  Tensor first_order(float t_next) const { return combine({{1.0F, x_}, {-sigma_at(t_next) * std::expm1(t_next - t_), eps_}}); }

  // Algorithm 1 of the paper: a second evaluation after the share r1 of the step.
  Tensor second_order(float t_next, float r1) {
    const float h = t_next - t_;
    const Tensor& eps_1 = eps_after(r1, h);
    const float scale = -sigma_at(t_next) * std::expm1(h);
    const float correction = scale / (2.0F * r1);
    return combine({{1.0F, x_}, {scale - correction, eps_}, {correction, eps_1}});
  }

  // Algorithm 2: evaluations after a third and two thirds.
  Tensor third_order(float t_next) {
    constexpr float kR1 = 1.0F / 3.0F;
    constexpr float kR2 = 2.0F / 3.0F;
    const float h = t_next - t_;
    const Tensor& eps_1 = eps_after(kR1, h);
    const float s2 = t_ + kR2 * h;
    const float scale = -sigma_at(s2) * std::expm1(kR2 * h);
    const float bend = -sigma_at(s2) * (kR2 / kR1) * (std::expm1(kR2 * h) / (kR2 * h) - 1.0F);
    const Tensor u2 = combine({{1.0F, x_}, {scale - bend, eps_}, {bend, eps_1}});
    const Tensor eps_2 = slope(u2, sigma_at(s2), evaluate(run_, u2, sigma_at(s2)));
    const float last_scale = -sigma_at(t_next) * std::expm1(h);
    const float last_bend = -sigma_at(t_next) / kR2 * (std::expm1(h) / h - 1.0F);
    return combine({{1.0F, x_}, {last_scale - last_bend, eps_}, {last_bend, eps_2}});
  }

 private:
  // The slope after the share r1 of a step of length h; evaluated once per DpmStep, all calls ask for the same point.
  const Tensor& eps_after(float r1, float h) {
    if (!eps_1_.defined()) {
      const float s1 = t_ + r1 * h;
      const Tensor u1 = combine({{1.0F, x_}, {-sigma_at(s1) * std::expm1(r1 * h), eps_}});
      eps_1_ = slope(u1, sigma_at(s1), evaluate(run_, u1, sigma_at(s1)));
    }
    return eps_1_;
  }

  SamplerRun& run_;
  const Tensor& x_;
  float t_;
  Tensor denoised_;
  Tensor eps_;
  Tensor eps_1_;
};

// These solvers end at the smallest positive sigma.
float last_positive_sigma(const SamplerRun& run) { return run.sigmas.back() > 0.0F ? run.sigmas.back() : run.sigmas[run.sigmas.size() - 2]; }

// Orders of the steps that use `evaluations` model calls: thirds as long as they last.
std::vector<int> orders_for(size_t evaluations) {
  const size_t steps = evaluations / 3 + 1;
  if (evaluations % 3 != 0) {
    std::vector<int> orders(steps - 1, 3);
    orders.push_back(static_cast<int>(evaluations % 3));
    return orders;
  }
  std::vector<int> orders(steps - 2, 3);
  orders.push_back(2);
  orders.push_back(1);
  return orders;
}

struct Eta {
  float t;   // where the deterministic part of a step ends
  float up;  // deviation of the noise that follows
};

Eta split_step(float t, float t_next, float t_end, float eta) {
  if (eta == 0.0F) return {t_next, 0.0F};
  const float down = ancestral_step(sigma_at(t), sigma_at(t_next), eta).down;
  const float end = std::min(t_end, -std::log(down));
  const float left = sigma_at(t_next) * sigma_at(t_next) - sigma_at(end) * sigma_at(end);
  return {end, std::sqrt(std::max(0.0F, left))};
}

// The error of a step relative to its tolerance, root mean square.
float relative_error(const Tensor& low, const Tensor& high, const Tensor& previous) {
  constexpr float kAbsolute = 0.0078F;
  constexpr float kRelative = 0.05F;
  double sum = 0;
  for (size_t i = 0; i < low.floats().size(); ++i) {
    const float l = low.floats()[i];
    const float tolerance = std::max(kAbsolute, kRelative * std::max(std::abs(l), std::abs(previous.floats()[i])));
    const float e = (l - high.floats()[i]) / tolerance;
    sum += static_cast<double>(e) * e;
  }
  return static_cast<float>(std::sqrt(sum) / std::sqrt(static_cast<double>(low.num_elements())));
}

}  // namespace

Tensor sample_dpm_fast(SamplerRun& run) {
  const float t_start = -std::log(run.sigmas.front());
  const float t_end = -std::log(last_positive_sigma(run));
  const std::vector<int> orders = orders_for(num_steps(run));
  const float length = (t_end - t_start) / static_cast<float>(orders.size());
  const auto time = [&](size_t i) {
    return i < (orders.size() + 1) / 2 ? t_start + length * static_cast<float>(i) : t_end - length * static_cast<float>(orders.size() - i);
  };
  Tensor x = run.x;
  for (size_t i = 0; i < orders.size(); ++i) {
    const float t = time(i);
    const float t_next = time(i + 1);
    const Eta part = split_step(t, t_next, t_end, run.options.eta.value_or(0.0F));
    DpmStep step(run, x, t);
    report(run, i, x, step.denoised());
    if (t_next == t) break;  // one sigma only: no way to go
    Tensor next = orders[i] == 1 ? step.first_order(part.t) : orders[i] == 2 ? step.second_order(part.t, 0.5F) : step.third_order(part.t);
    x = combine({{1.0F, next}, {part.up * run.options.s_noise, run.noise->draw(sigma_at(t), sigma_at(t_next))}});
  }
  return x;
}

Tensor sample_dpm_adaptive(SamplerRun& run) {
  constexpr float kEnd = 1e-5F;  // as near to the end in t as counts as there
  constexpr double kFirstStep = 0.05;
  constexpr double kSafety = 0.81;  // a step is taken unless the next one would have to be that much shorter
  constexpr size_t kMaxAttempts = 100'000;
  const float eta = run.options.eta.value_or(0.0F);
  const double order = eta > 0 ? 1.5 : 3.0;
  const float t_end = -std::log(last_positive_sigma(run));
  float t = -std::log(run.sigmas.front());
  double h = kFirstStep;
  Tensor x = run.x;
  Tensor previous = run.x;
  for (size_t attempt = 0; t < t_end - kEnd; ++attempt) {
    if (attempt == kMaxAttempts) throw Error(ErrorCode::internal, "sampler: dpm_adaptive does not come to an end");
    const float t_next = std::min(t_end, t + static_cast<float>(h));
    const Eta part = split_step(t, t_next, t_end, eta);
    DpmStep step(run, x, t);
    const Tensor low = step.second_order(part.t, 1.0F / 3.0F);
    const Tensor high = step.third_order(part.t);
    const float error = relative_error(low, high, previous);
    if (!std::isfinite(error)) throw Error(ErrorCode::invalid, "sampler: the prediction is not finite", {{"sigma", std::to_string(sigma_at(t))}});
    const double wish = std::pow(1.0 / (static_cast<double>(error) + 1e-8), 1.0 / order);
    const double factor = 1.0 + std::atan(wish - 1.0);
    if (factor >= kSafety) {
      previous = low;
      x = combine({{1.0F, high}, {part.up * run.options.s_noise, run.noise->draw(sigma_at(t), sigma_at(t_next))}});
      t = t_next;
    }
    h *= factor;
    report(run, attempt, x, step.denoised());
  }
  return x;
}

}  // namespace veneer::sampling
