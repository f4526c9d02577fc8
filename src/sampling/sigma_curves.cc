#include "sampling/sigma_curves.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

#include "sampling/beta_quantile.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using Sigmas = std::vector<float>;

constexpr int kMaxSteps = 1'000'000;  // a schedule that is cut afterwards may be much longer than the run

void require(bool ok, const char* rule, double value) {
  if (!ok) throw Error(ErrorCode::invalid, "schedules: parameter out of range", {{"rule", rule}, {"value", std::to_string(value)}});
}

void require_steps(int steps) { require(steps >= 1 && steps <= kMaxSteps, "1 <= steps <= 1000000", steps); }

void require_positive(double value) { require(value > 0 && std::isfinite(value), "a positive number", value); }

}  // namespace

std::vector<float> linspace(float first, float last, int count) {
  std::vector<float> out(static_cast<size_t>(std::max(count, 0)), first);
  if (count < 2) return out;
  const float step = (last - first) / static_cast<float>(count - 1);
  for (int i = 0; i < count; ++i) {
    out[static_cast<size_t>(i)] = i < count / 2 ? first + step * static_cast<float>(i) : last - step * static_cast<float>(count - 1 - i);
  }
  return out;
}

Sigmas karras_sigmas(int steps, double min, double max, double rho) {
  require_steps(steps);
  require_positive(rho);
  for (const double sigma : {min, max}) require(sigma >= 0 && std::isfinite(sigma), "sigma >= 0", sigma);
  const double low = std::pow(min, 1.0 / rho);
  const double high = std::pow(max, 1.0 / rho);
  Sigmas out;
  for (const float ramp : linspace(0.0F, 1.0F, steps)) {
    out.push_back(std::pow(static_cast<float>(high) + ramp * static_cast<float>(low - high), static_cast<float>(rho)));
  }
  out.push_back(0.0F);
  return out;
}

Sigmas exponential_sigmas(int steps, double min, double max) {
  require_steps(steps);
  require_positive(min);
  require_positive(max);
  Sigmas out;
  for (const float log_sigma : linspace(static_cast<float>(std::log(max)), static_cast<float>(std::log(min)), steps))
    out.push_back(std::exp(log_sigma));
  out.push_back(0.0F);
  return out;
}

Sigmas polyexponential_sigmas(int steps, double min, double max, double rho) {
  require_steps(steps);
  require_positive(min);
  require_positive(max);
  require(rho >= 0 && std::isfinite(rho), "rho >= 0", rho);
  const auto low = static_cast<float>(std::log(min));
  const auto range = static_cast<float>(std::log(max) - std::log(min));
  Sigmas out;
  for (const float ramp : linspace(1.0F, 0.0F, steps)) out.push_back(std::exp(std::pow(ramp, static_cast<float>(rho)) * range + low));
  out.push_back(0.0F);
  return out;
}

Sigmas vp_sigmas(int steps, double beta_d, double beta_min, double eps) {
  require_steps(steps);
  for (const double value : {beta_d, beta_min, eps}) require(value >= 0 && std::isfinite(value), "a number >= 0", value);
  Sigmas out;
  for (const float t : linspace(1.0F, static_cast<float>(eps), steps)) {
    out.push_back(static_cast<float>(std::sqrt(std::expm1(beta_d * t * t / 2 + beta_min * t))));
  }
  out.push_back(0.0F);
  return out;
}

Sigmas laplace_sigmas(int steps, double min, double max, double mu, double beta) {
  constexpr double kAwayFromZero = 1e-5;  // under the logarithm
  require_steps(steps);
  require(min >= 0 && min <= max && std::isfinite(max), "0 <= sigma_min <= sigma_max", min);
  for (const double value : {mu, beta}) require(std::isfinite(value), "a number", value);
  Sigmas out;
  for (const float x : linspace(0.0F, 1.0F, steps)) {
    const double side = x < 0.5F ? 1.0 : x > 0.5F ? -1.0 : 0.0;
    const double log_sigma = mu - beta * side * std::log(1.0 - 2.0 * std::abs(0.5 - static_cast<double>(x)) + kAwayFromZero);
    out.push_back(static_cast<float>(std::clamp(std::exp(log_sigma), min, max)));
  }
  return out;
}

Sigmas beta_sigmas(const ModelSampling& model_sampling, int steps, double alpha, double beta) {
  require_steps(steps);
  require_positive(alpha);
  require_positive(beta);
  const auto table = model_sampling.sigmas();
  Sigmas out;
  double last = -1;
  for (int i = 0; i < steps; ++i) {
    const double p = 1.0 - static_cast<double>(i) * (1.0 / steps);
    const double timestep = std::nearbyint(beta_quantile(p, alpha, beta) * static_cast<double>(table.size() - 1));
    if (timestep != last) out.push_back(table[static_cast<size_t>(timestep)]);
    last = timestep;
  }
  out.push_back(0.0F);
  return out;
}

Sigmas sd_turbo_sigmas(const ModelSampling& model_sampling, int steps, double denoise) {
  constexpr int kTimesteps = 10;
  require_steps(steps);
  require(denoise >= 0 && denoise <= 1, "0 <= denoise <= 1", denoise);
  const int first = kTimesteps - static_cast<int>(kTimesteps * denoise);
  Sigmas out;
  for (int i = first; i < std::min(first + steps, kTimesteps); ++i)
    out.push_back(model_sampling.sigma(static_cast<float>((kTimesteps - i) * 100 - 1)));
  out.push_back(0.0F);
  return out;
}

}  // namespace veneer::sampling
