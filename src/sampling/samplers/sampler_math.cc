#include "sampling/samplers/sampler_math.h"

#include <algorithm>
#include <cmath>

#include "veneer/error.h"

namespace veneer::sampling {

Tensor combine(std::span<const Term> terms) {
  Tensor result = Tensor::empty(terms.front().latents.shape(), DType::f32);
  const std::span<float> out = result.mutable_floats();
  const std::span<const float> first = terms.front().latents.floats();
  for (size_t i = 0; i < out.size(); ++i) out[i] = terms.front().scale * first[i];
  for (const Term& term : terms.subspan(1)) {
    const std::span<const float> values = term.latents.floats();
    for (size_t i = 0; i < out.size(); ++i) out[i] += term.scale * values[i];
  }
  return result;
}

Tensor slope(const Tensor& x, float sigma, const Tensor& denoised) {
  Tensor result = Tensor::empty(x.shape(), DType::f32);
  const std::span<float> out = result.mutable_floats();
  for (size_t i = 0; i < out.size(); ++i) out[i] = (x.floats()[i] - denoised.floats()[i]) / sigma;
  return result;
}

Tensor evaluate(SamplerRun& run, const Tensor& x, float sigma) {
  Tensor denoised = run.model.denoise(x, sigma);
  if (denoised.shape() != x.shape() || denoised.dtype() != DType::f32) {
    throw Error(ErrorCode::internal, "sampler: the prediction does not fit the latents",
                {{"want", x.shape().to_string()}, {"got", denoised.shape().to_string()}});
  }
  return denoised;
}

void report(const SamplerRun& run, size_t step, const Tensor& x, const Tensor& denoised) {
  if (run.callback) run.callback(static_cast<int>(step), static_cast<int>(num_steps(run)), x, denoised);
}

AncestralStep ancestral_step(float from, float to, float eta) {
  if (eta == 0.0F) return {to, 0.0F};
  // From an infinite sigma nothing is left of what was there.
  const float variance = std::isinf(from) ? to * to : to * to * (from * from - to * to) / (from * from);
  const float up = std::min(to, eta * std::sqrt(variance));
  return {std::sqrt(to * to - up * up), up};
}

FlowAncestralStep flow_ancestral_step(float from, float to, float eta) {
  const float down = to * (1.0F + (to / from - 1.0F) * eta);
  const float alpha = 1.0F - to;
  const float alpha_down = 1.0F - down;
  const float kept = down * down * alpha * alpha / (alpha_down * alpha_down);
  return {down, alpha / alpha_down, std::sqrt(std::max(0.0F, to * to - kept))};
}

std::vector<float> sigmas_with_finite_snr(const SamplerRun& run) {
  constexpr double kFirstPercent = 1e-4;
  std::vector<float> sigmas(run.sigmas.begin(), run.sigmas.end());
  const ModelSampling& model_sampling = run.model.model_sampling();
  if (model_sampling.is_flow() && sigmas.front() >= 1.0F) sigmas.front() = static_cast<float>(model_sampling.percent_to_sigma(kFirstPercent));
  return sigmas;
}

std::vector<double> lagrange_integrals(std::span<const double> nodes, double from, double to) {
  std::vector<double> weights;
  for (size_t j = 0; j < nodes.size(); ++j) {
    // Coefficients of the basis polynomial in s = t - from, lowest power first.
    std::vector<double> basis{1.0};
    for (size_t k = 0; k < nodes.size(); ++k) {
      if (k == j) continue;
      const double scale = 1.0 / (nodes[j] - nodes[k]);
      const double root = nodes[k] - from;
      basis.push_back(0.0);
      for (size_t p = basis.size() - 1; p > 0; --p) basis[p] = (basis[p - 1] - root * basis[p]) * scale;
      basis[0] *= -root * scale;
    }
    double weight = 0;
    double power = 1;
    for (size_t p = 0; p < basis.size(); ++p) {
      power *= to - from;
      weight += basis[p] * power / static_cast<double>(p + 1);
    }
    weights.push_back(weight);
  }
  return weights;
}

std::vector<double> solve(std::vector<double> a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t row = column + 1; row < n; ++row) {
      if (std::abs(a[row * n + column]) > std::abs(a[pivot * n + column])) pivot = row;
    }
    for (size_t k = 0; k < n; ++k) std::swap(a[column * n + k], a[pivot * n + k]);
    std::swap(b[column], b[pivot]);
    for (size_t row = column + 1; row < n; ++row) {
      const double factor = a[row * n + column] / a[column * n + column];
      for (size_t k = column; k < n; ++k) a[row * n + k] -= factor * a[column * n + k];
      b[row] -= factor * b[column];
    }
  }
  for (size_t row = n; row-- > 0;) {
    for (size_t k = row + 1; k < n; ++k) b[row] -= a[row * n + k] * b[k];
    b[row] /= a[row * n + row];
  }
  return b;
}

}  // namespace veneer::sampling
