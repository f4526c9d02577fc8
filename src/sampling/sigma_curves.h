// Sequences of noise levels that are given by a formula: descending sigmas, most with a 0 at the end.
//
// Sources: Karras et al. 2022 (karras), Song et al. 2020 (vp), Hang et al. 2024 (laplace), "beta sampling" (Lee et al. 2024).
// All throw Error(invalid) for steps outside 1..1,000,000 and parameters that are not finite or out of the range stated.
#pragma once

#include <vector>

#include "sampling/model_sampling.h"

namespace veneer::sampling {

// Equal steps of sigma^(1/rho), from `max` to `min`, then 0. rho > 0, 0 <= min, 0 <= max.
std::vector<float> karras_sigmas(int steps, double min, double max, double rho = 7.0);
// Equal steps of log(sigma), then 0. min, max > 0.
std::vector<float> exponential_sigmas(int steps, double min, double max);
// Steps of log(sigma) that grow by a power rho >= 0, then 0. min, max > 0.
std::vector<float> polyexponential_sigmas(int steps, double min, double max, double rho = 1.0);
// The variance preserving process at equally spaced times from 1 to eps, then 0.
std::vector<float> vp_sigmas(int steps, double beta_d = 19.9, double beta_min = 0.1, double eps = 1e-3);
// Quantiles of a Laplace distribution of log(sigma), kept within [min, max]; no 0 at the end.
std::vector<float> laplace_sigmas(int steps, double min, double max, double mu = 0.0, double beta = 0.5);
// Timesteps of the model at equally spaced quantiles of Beta(alpha, beta), then 0; equal neighbours are visited once. alpha, beta > 0.
std::vector<float> beta_sigmas(const ModelSampling& model_sampling, int steps, double alpha = 0.6, double beta = 0.6);
// SD Turbo's: `steps` of ten timesteps 999, 899, ..., 99, beginning after the share 1 - denoise of them, then 0. denoise in 0..1.
std::vector<float> sd_turbo_sigmas(const ModelSampling& model_sampling, int steps, double denoise = 1.0);

// `count` equally spaced f32 values, computed from both ends so that both are met exactly. One value: `first`.
std::vector<float> linspace(float first, float last, int count);

}  // namespace veneer::sampling
