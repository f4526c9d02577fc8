#include "sampling/schedules.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/sigma_curves.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using Sigmas = std::vector<float>;

constexpr int kMaxSteps = 10'000;
constexpr double kMaxScheduleSteps = 1'000'000;
constexpr float kNearZero = 1e-5F;

// Equally spaced entries of the table, from the top.
Sigmas simple(const ModelSampling& model_sampling, int steps) {
  const auto table = model_sampling.sigmas();
  const double stride = static_cast<double>(table.size()) / steps;
  Sigmas out;
  for (int i = 0; i < steps; ++i) out.push_back(table[table.size() - 1 - static_cast<size_t>(i * stride)]);
  out.push_back(0.0F);
  return out;
}

Sigmas at_timesteps(const ModelSampling& model_sampling, std::span<const float> timesteps) {
  Sigmas out;
  for (const float timestep : timesteps) out.push_back(model_sampling.sigma(timestep));
  return out;
}

// Equally spaced timesteps from the noisiest to the last before 0.
Sigmas sgm_uniform(const ModelSampling& model_sampling, int steps) {
  const float start = model_sampling.timestep(model_sampling.sigma_max());
  const float end = model_sampling.timestep(model_sampling.sigma_min());
  std::vector<float> timesteps = linspace(start, end, steps + 1);
  timesteps.pop_back();
  Sigmas out = at_timesteps(model_sampling, timesteps);
  out.push_back(0.0F);
  return out;
}

// Equally spaced timesteps, both ends included.
Sigmas normal(const ModelSampling& model_sampling, int steps) {
  const float start = model_sampling.timestep(model_sampling.sigma_max());
  const float end = model_sampling.timestep(model_sampling.sigma_min());
  const bool ends_at_zero = std::abs(model_sampling.sigma(end)) <= kNearZero;
  Sigmas out = at_timesteps(model_sampling, linspace(start, end, ends_at_zero ? steps + 1 : steps));
  if (!ends_at_zero) out.push_back(0.0F);
  return out;
}

Sigmas karras(const ModelSampling& model_sampling, int steps) { return karras_sigmas(steps, model_sampling.sigma_min(), model_sampling.sigma_max()); }

Sigmas exponential(const ModelSampling& model_sampling, int steps) {
  return exponential_sigmas(steps, model_sampling.sigma_min(), model_sampling.sigma_max());
}

// Every n-th entry of the table, counted from the second lowest.
Sigmas ddim_uniform(const ModelSampling& model_sampling, int steps) {
  const auto table = model_sampling.sigmas();
  Sigmas out;
  if (std::abs(table[1]) <= kNearZero) {
    ++steps;
  } else {
    out.push_back(0.0F);
  }
  const size_t stride = std::max<size_t>(table.size() / static_cast<size_t>(steps), 1);
  for (size_t i = 1; i < table.size(); i += stride) out.push_back(table[i]);
  std::reverse(out.begin(), out.end());
  return out;
}

Sigmas beta(const ModelSampling& model_sampling, int steps) { return beta_sigmas(model_sampling, steps); }

// A slow linear start down to 1 - 0.025 of the noise in half of the steps, then a parabola that goes on with the same slope.
Sigmas linear_quadratic(const ModelSampling& model_sampling, int steps) {
  constexpr double kThreshold = 0.025;
  std::vector<double> done;  // the share of the noise that is gone
  if (steps == 1) {
    done = {0.0, 1.0};
  } else {
    const int linear_steps = steps / 2;
    const int quadratic_steps = steps - linear_steps;
    const double rest = linear_steps - kThreshold * steps;
    const double square = static_cast<double>(quadratic_steps) * quadratic_steps;
    const double a = rest / (linear_steps * square);
    const double b = kThreshold / linear_steps - 2 * rest / square;
    const double c = a * linear_steps * linear_steps;
    for (int i = 0; i < linear_steps; ++i) done.push_back(i * kThreshold / linear_steps);
    for (int i = linear_steps; i < steps; ++i) done.push_back(a * i * i + b * i + c);
    done.push_back(1.0);
  }
  Sigmas out;
  for (const double share : done) out.push_back(static_cast<float>(1.0 - share) * model_sampling.sigma_max());
  return out;
}

// Equally spaced arc tangents (Sabour et al. 2024, eq. 8). One step starts at the top (the reference divides 0 by 0 there).
Sigmas kl_optimal(const ModelSampling& model_sampling, int steps) {
  const auto low = static_cast<float>(std::atan(static_cast<double>(model_sampling.sigma_min())));
  const auto high = static_cast<float>(std::atan(static_cast<double>(model_sampling.sigma_max())));
  Sigmas out;
  for (int i = 0; i < steps; ++i) {
    const float share = static_cast<float>(i) / static_cast<float>(std::max(steps - 1, 1));
    out.push_back(std::tan(share * low + (1.0F - share) * high));
  }
  out.push_back(0.0F);
  return out;
}

constexpr ScheduleDef kSchedules[] = {
    {"simple", simple},           {"sgm_uniform", sgm_uniform},           {"karras", karras},
    {"exponential", exponential}, {"ddim_uniform", ddim_uniform},         {"beta", beta},
    {"normal", normal},           {"linear_quadratic", linear_quadratic}, {"kl_optimal", kl_optimal},
};

}  // namespace

std::span<const ScheduleDef> all_schedules() { return kSchedules; }

const ScheduleDef& find_schedule(std::string_view name) {
  std::string allowed;
  for (const ScheduleDef& def : kSchedules) {
    if (def.name == name) return def;
    allowed += (allowed.empty() ? "" : ", ") + std::string(def.name);
  }
  throw Error(ErrorCode::invalid, "schedules: unknown scheduler", {{"name", std::string(name)}, {"allowed", allowed}});
}

std::vector<float> make_sigmas(const ModelSampling& model_sampling, std::string_view scheduler, int steps, double denoise, bool discard_penultimate) {
  constexpr double kFullDenoise = 0.9999;
  const ScheduleDef& def = find_schedule(scheduler);
  if (steps < 1 || steps > kMaxSteps) {
    throw Error(ErrorCode::invalid, "schedules: steps out of range", {{"steps", std::to_string(steps)}, {"max", std::to_string(kMaxSteps)}});
  }
  if (std::isnan(denoise)) throw Error(ErrorCode::invalid, "schedules: denoise is not a number");
  if (denoise <= 0) return {};
  const bool whole = denoise > kFullDenoise;
  if (!whole && steps / denoise > kMaxScheduleSteps) {
    throw Error(ErrorCode::invalid, "schedules: denoise is too small for these steps", {{"denoise", std::to_string(denoise)}});
  }
  const int schedule_steps = whole ? steps : static_cast<int>(steps / denoise);
  Sigmas sigmas = def.make(model_sampling, discard_penultimate ? schedule_steps + 1 : schedule_steps);
  if (discard_penultimate && sigmas.size() >= 2) sigmas.erase(sigmas.end() - 2);
  const size_t keep = std::min(sigmas.size(), static_cast<size_t>(steps) + 1);
  if (!whole) sigmas.erase(sigmas.begin(), sigmas.end() - static_cast<std::ptrdiff_t>(keep));
  return sigmas;
}

std::vector<float> cut_sigmas(std::vector<float> sigmas, int start_step, int last_step, bool force_full_denoise) {
  if (last_step >= 0 && static_cast<size_t>(last_step) + 1 < sigmas.size()) {
    sigmas.resize(static_cast<size_t>(last_step) + 1);
    if (force_full_denoise) sigmas.back() = 0.0F;
  }
  if (start_step < 0) return sigmas;
  if (static_cast<size_t>(start_step) + 1 >= sigmas.size()) return {};
  sigmas.erase(sigmas.begin(), sigmas.begin() + start_step);
  return sigmas;
}

}  // namespace veneer::sampling
