// Schedules: which noise levels a run visits.
//
// Sources: sigma_curves.h, Sabour et al. 2024 (kl_optimal), Genmo's Mochi (linear_quadratic).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sampling/model_sampling.h"

namespace veneer::sampling {

struct ScheduleDef {
  std::string_view name;
  // Descending sigmas for `steps` >= 1 steps, the last is 0. Most give steps + 1 values; `beta` and `ddim_uniform` may give fewer or more.
  std::vector<float> (*make)(const ModelSampling& model_sampling, int steps);
};

// Every schedule, in the order in which user interfaces list them.
std::span<const ScheduleDef> all_schedules();
// Throws Error(invalid) listing the allowed names.
const ScheduleDef& find_schedule(std::string_view name);

// The sigmas of a run as the KSampler node makes them. `denoise` < 1 keeps the last steps + 1 of a schedule of int(steps/denoise) steps; <= 0 gives
// an empty list (nothing to do). `discard_penultimate` (see SamplerDef): the schedule is made one step longer and its last positive sigma removed.
// Throws Error(invalid) for an unknown name, steps < 1 or > 10,000, or a denoise that asks for more than 1,000,000 steps.
std::vector<float> make_sigmas(const ModelSampling& model_sampling, std::string_view scheduler, int steps, double denoise, bool discard_penultimate);

// The part of `sigmas` between two steps, as KSamplerAdvanced cuts it. Negative: unset. Empty when nothing is left to do.
// With `force_full_denoise` an end before the schedule's last sigma becomes 0.
std::vector<float> cut_sigmas(std::vector<float> sigmas, int start_step, int last_step, bool force_full_denoise);

}  // namespace veneer::sampling
