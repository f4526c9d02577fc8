// What a network was trained to predict and on which noise levels: the link between sigmas, timesteps, and the network's inputs and outputs.
//
// Sources: Karras et al. 2022 (sigma as noise level), Salimans and Ho 2022 (v), Lin et al. 2023 (zero terminal SNR), Luo et al. 2023 (LCM),
// Lipman et al. 2022 and Esser et al. 2024 (rectified flow with shift).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// What the network's output means.
enum class Prediction : uint8_t {
  eps,         // the noise
  v,           // the velocity alpha*eps - sigma*x0
  x0,          // the clean latent
  img_to_img,  // the clean latent, from an input that is not scaled
  lcm,         // the noise, with a consistency model's boundary condition
  flow,        // noise minus clean latent, on a straight path
  edm,         // what is left of the clean latent behind the input's share of it, in Karras et al.'s preconditioning
};

// "eps", "v_prediction", "x0", "img_to_img", "lcm", "flow", "edm". Throws Error(invalid) listing these.
Prediction prediction_from_string(std::string_view name);
std::string_view to_string(Prediction prediction);

// How the variances of the forward process grow.
struct BetaSchedule {
  enum class Kind : uint8_t {
    sqrt_space,  // equal steps of sqrt(beta), as Stable Diffusion (called "linear" or "scaled_linear" elsewhere)
    beta_space,  // equal steps of beta (called "sqrt_linear" in latent diffusion's code)
  };
  Kind kind = Kind::sqrt_space;
  double start = 0.00085;
  double end = 0.012;
  int timesteps = 1000;
};

// The noise levels of a network that takes any: 0 < min < max, and the standard deviation of clean latents.
struct ContinuousLevels {
  double sigma_min = 0.002;
  double sigma_max = 120.0;
  double sigma_data = 1.0;
};

// Immutable; all members may be called from any thread. Tensors are f32 (else Error(invalid)) of any shape with the batch first; a `sigma` span
// holds one value for all rows or one per row, else Error(invalid).
class ModelSampling {
 public:
  // Any prediction but flow on a table of sigmas from `betas`. `zero_terminal_snr` rescales it so that the last step is (almost) pure noise.
  // Throws Error(invalid) for flow and edm, or betas that leave (0, 1), or fewer than 2 timesteps.
  static ModelSampling discrete(Prediction prediction, const BetaSchedule& betas = {}, bool zero_terminal_snr = false);
  // Of discrete's table only `original_timesteps`, equally spaced, as latent consistency models are distilled on. It has to divide the timesteps.
  static ModelSampling distilled(Prediction prediction, int original_timesteps = 50, const BetaSchedule& betas = {}, bool zero_terminal_snr = false);
  // Rectified flow on 1000 timesteps. `shift` > 0 moves the levels towards noise; `multiplier` is what the network's timestep is scaled by.
  static ModelSampling flow(double shift, double multiplier = 1000.0);
  // eps, v or edm on every noise level between two, whose timestep is log(sigma) / 4 (Karras et al. 2022, table 1). Schedules see 1000 of them,
  // equally spaced in their logarithms. Throws Error(invalid) for another prediction and levels that are out of order.
  static ModelSampling continuous(Prediction prediction, const ContinuousLevels& levels);

  Prediction prediction() const { return prediction_; }
  // What the table was made of; none for flow and continuous ones.
  const std::optional<BetaSchedule>& betas() const { return betas_; }
  // Equal for two that behave alike.
  Fingerprint fingerprint() const;
  bool is_flow() const { return prediction_ == Prediction::flow; }
  // Ascending noise levels, and their logarithms (empty for flow).
  std::span<const float> sigmas() const { return sigmas_; }
  std::span<const float> log_sigmas() const { return log_sigmas_; }
  float sigma_min() const { return sigmas_.front(); }
  float sigma_max() const { return sigmas_.back(); }

  // The network's timestep for a noise level: the nearest entry of the table (first at a tie), sigma*multiplier for flow, log(sigma)/4 for continuous
  // ones.
  float timestep(float sigma) const;
  // The noise level at a (fractional) timestep; clamped to the table, interpolated in log space; that of a continuous one is not clamped.
  float sigma(float timestep) const;
  // The noise level after `percent` (0..1) of a full run; <= 0 gives a level above every other, >= 1 gives 0.
  double percent_to_sigma(double percent) const;
  // Whether a run that starts at `sigma` starts from pure noise.
  bool is_max_denoise(float sigma) const;

  // Minus half the log of the signal-to-noise ratio's inverse: log(alpha/sigma). The time in which the exponential integrators step.
  float half_log_snr(float sigma) const;
  float sigma_of_half_log_snr(float half_log_snr) const;
  // How much of the clean latent is in a latent of that noise level, in the samplers' scaling: 1, or 1 - sigma for flow.
  float alpha(float sigma) const { return is_flow() ? 1.0F - sigma : 1.0F; }

  // The network's input for latents `x` at `sigma`.
  Tensor calculate_input(std::span<const float> sigma, const Tensor& x) const;
  // The clean latent that the network's output stands for. `x`: the latents as given to calculate_input.
  Tensor calculate_denoised(std::span<const float> sigma, const Tensor& model_output, const Tensor& x) const;
  // The latents at `sigma`: noise added to `latent`. `max_denoise`: the run starts from pure noise (is_max_denoise).
  Tensor noise_scaling(std::span<const float> sigma, const Tensor& noise, const Tensor& latent, bool max_denoise) const;
  // Undoes the signal's scaling of latents at `sigma`.
  Tensor inverse_noise_scaling(std::span<const float> sigma, const Tensor& latent) const;

 private:
  ModelSampling() = default;
  float data_variance() const { return levels_ ? static_cast<float>(levels_->sigma_data * levels_->sigma_data) : 1.0F; }

  Prediction prediction_ = Prediction::eps;
  double shift_ = 1.0;
  double multiplier_ = 1000.0;
  std::optional<BetaSchedule> betas_;
  std::optional<ContinuousLevels> levels_;  // continuous ones only
  int skip_steps_ = 1;                      // timesteps between two entries of the table
  std::vector<float> sigmas_;
  std::vector<float> log_sigmas_;
};

}  // namespace veneer::sampling
