// What the samplers share: sums of latents, slopes, ancestral steps. All latents are f32 of one shape.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "sampling/model_sampling.h"
#include "sampling/sampler.h"

namespace veneer::sampling {

struct Term {
  float scale;
  Tensor latents;
};
// The sum of scale * latents, added in order. At least one term.
Tensor combine(std::span<const Term> terms);
inline Tensor combine(std::initializer_list<Term> terms) { return combine(std::span<const Term>(terms.begin(), terms.size())); }

// The probability-flow slope dx/dsigma = (x - denoised) / sigma (Karras et al. 2022, eq. 4).
Tensor slope(const Tensor& x, float sigma, const Tensor& denoised);

// Asks the model; throws Error(internal) when the answer has another shape than x.
Tensor evaluate(SamplerRun& run, const Tensor& x, float sigma);
// Tells the callback, if there is one.
void report(const SamplerRun& run, size_t step, const Tensor& x, const Tensor& denoised);
inline size_t num_steps(const SamplerRun& run) { return run.sigmas.size() - 1; }

// A step from one sigma to another as a deterministic one to `down` and fresh noise of deviation `up`: down^2 + up^2 = to^2.
struct AncestralStep {
  float down;
  float up;
};
AncestralStep ancestral_step(float from, float to, float eta);

// The same for rectified flow, where signal and noise add up to 1: after the step to `down`, x is scaled by `signal` and gets noise of deviation
// `up`.
struct FlowAncestralStep {
  float down;
  float signal;
  float up;
};
FlowAncestralStep flow_ancestral_step(float from, float to, float eta);

// The sigmas for solvers in half-log-SNR: for flow a first sigma of 1 (no signal, infinite) becomes the one after 0.01 % of the run.
std::vector<float> sigmas_with_finite_snr(const SamplerRun& run);

// Weights of values at `nodes` that integrate their interpolating polynomial from `from` to `to`. At most 10 distinct nodes are of use.
std::vector<double> lagrange_integrals(std::span<const double> nodes, double from, double to);

// Solves the n x n system a*x = b (row-major) by elimination with pivots. A singular system gives infinities or NaN, which the latents then show.
std::vector<double> solve(std::vector<double> a, std::vector<double> b);

}  // namespace veneer::sampling
