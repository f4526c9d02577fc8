// Samplers: ways to walk from noise to a picture along a list of noise levels, asking a Denoiser on the way.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "sampling/denoiser.h"
#include "sampling/noise.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// Where a sampler's own noise comes from unless the run brings its own source.
enum class NoiseKind : uint8_t {
  none,           // deterministic
  generator,      // make_generator_noise with the run's seed
  brownian_tree,  // make_brownian_noise over [smallest positive sigma, largest sigma]
};

// Called after each step's evaluation: `step` of `total_steps` = number of sigmas - 1 (0-based), the latents x that went into it and the prediction
// `denoised`. dpm_fast takes fewer steps; dpm_adaptive may take more, and `step` then passes `total_steps`.
using StepCallback = std::function<void(int step, int total_steps, const Tensor& x, const Tensor& denoised)>;

// Numbers that a caller may set; what a sampler does not use it ignores.
struct SamplerOptions {
  std::optional<float> eta;  // how much of each step is made of fresh noise: 0 none; unset: the sampler's own default (1 for stochastic ones)
  float s_noise = 1.0F;      // scale of that noise
  float r = 0.5F;            // where in (0, 1] of a step dpmpp_sde and seeds_2 look a second time
  int order = 4;             // highest order of lms, >= 1
};

// One run. `model`, `sigmas` and `noise` must outlive it.
struct SamplerRun {
  Denoiser& model;
  Tensor x;                       // latents at sigmas[0], [N, C, h, w] f32; never written to
  std::span<const float> sigmas;  // descending; ends with 0 for a full run
  uint64_t seed = 0;
  NoiseSource* noise = nullptr;  // null: by the sampler's NoiseKind from the seed
  StepCallback callback = {};    // may be empty; what it throws ends the run
  SamplerOptions options = {};
};

struct SamplerDef {
  std::string_view name;
  NoiseKind noise = NoiseKind::none;
  bool discard_penultimate = false;  // works best without the last positive sigma: see make_sigmas
  bool needs_uncond = false;         // asks for Denoiser::last_uncond (CFG++)
  bool fresh_inpaint_noise = false;  // inpainting draws new noise at every step (ddim)
  // The algorithm; run.noise is set unless `noise` is none. Called by run_sampler only.
  Tensor (*run)(SamplerRun& run) = nullptr;
};

// Every sampler, in the order in which user interfaces list them.
std::span<const SamplerDef> all_samplers();
// Throws Error(invalid) listing the allowed names.
const SamplerDef& find_sampler(std::string_view name);

// Runs a sampler and returns the latents at the last sigma. With fewer than two sigmas there is no step, and `run.x` is returned. Brings the noise
// source that the sampler needs, switches the unconditional prediction on and off again. Whatever the denoiser throws (cancellation) passes through
// and leaves nothing behind. Throws Error(invalid) for latents that are not f32, sigmas
// that are negative or not finite, and options out of their range.
Tensor run_sampler(const SamplerDef& sampler, SamplerRun run);

}  // namespace veneer::sampling
