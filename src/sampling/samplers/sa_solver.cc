// SA-Solver (Xue et al. 2023, "SA-Solver: Stochastic Adams Solver for Fast Sampling of Diffusion Models"): predictor of order 3 and corrector of
// order 4 in lambda = log(alpha/sigma), with noise of strength tau between 20 % and 80 % of the run. PECE evaluates the corrected state again.
#include <algorithm>
#include <cmath>
#include <deque>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

constexpr size_t kPredictorOrder = 3;
constexpr size_t kCorrectorOrder = 4;

// alpha(to) * (1 + tau^2) * the integral of exp((1 + tau^2) (l - to)) * basis_j(l) dl over [from, to], for the Lagrange basis on `nodes` (oldest
// first): the weights of the predictions at these nodes (the paper's eq. 14 and 17).
std::vector<float> stochastic_adams_weights(std::span<const double> nodes, double from, double to, double tau, double alpha) {
  const double c = 1.0 + tau * tau;
  const size_t n = nodes.size();
  // Moments of u = l - to: M_p = [u^p e^{cu}] - (p/c) M_{p-1}, all multiplied by c.
  const double start = from - to;
  std::vector<double> moments(n);
  for (size_t p = 0; p < n; ++p) {
    const double power = static_cast<double>(p);
    const double ends = (p == 0 ? 1.0 : 0.0) - std::pow(start, power) * std::exp(c * start);
    moments[p] = p == 0 ? ends : ends - power / c * moments[p - 1];
  }
  // Interpolation on the nodes integrates each power up to n - 1 exactly.
  std::vector<double> powers(n * n);
  for (size_t p = 0; p < n; ++p) {
    for (size_t j = 0; j < n; ++j) powers[p * n + j] = std::pow(nodes[j] - to, static_cast<double>(p));
  }
  std::vector<float> weights;
  for (const double weight : solve(powers, moments)) weights.push_back(static_cast<float>(alpha * weight));
  return weights;
}

class SaSolver {
 public:
  SaSolver(SamplerRun& run, bool evaluate_corrected) : run_(run), evaluate_corrected_(evaluate_corrected), sigmas_(sigmas_with_finite_snr(run)) {
    const ModelSampling& model_sampling = run.model.model_sampling();
    for (const float sigma : sigmas_) lambdas_.push_back(model_sampling.half_log_snr(sigma));
    noisy_from_ = model_sampling.percent_to_sigma(0.2);
    noisy_to_ = model_sampling.percent_to_sigma(0.8);
  }

  Tensor sample() {
    Tensor predicted = run_.x;
    x_ = run_.x;
    for (size_t i = 0; i < num_steps(run_); ++i) {
      Tensor denoised = evaluate(run_, predicted, sigmas_[i]);
      report(run_, i, predicted, denoised);
      predictions_.push_back(denoised);
      if (predictions_.size() > std::max(kPredictorOrder, kCorrectorOrder)) predictions_.pop_front();

      const size_t order = corrector_order(i);
      if (order == 0) {
        x_ = predicted;
      } else {
        correct(i, order);
        if (evaluate_corrected_) {
          denoised = evaluate(run_, x_, sigmas_[i]);
          predictions_.back() = denoised;
        }
      }
      predicted = sigmas_[i + 1] == 0.0F ? denoised : predict(i);
    }
    return predicted;
  }

 private:
  // Near the end of a full run the orders fall, for stability.
  size_t lowered(size_t order, size_t steps_left) const { return sigmas_.back() == 0.0F ? std::min(order, steps_left) : order; }

  size_t corrector_order(size_t i) const {
    if (i == 0 || (sigmas_[i + 1] == 0.0F && !evaluate_corrected_)) return 0;
    return lowered(std::min(kCorrectorOrder, predictions_.size()), num_steps(run_) - i);
  }

  // The terms of the integral over a step from index `from` to `to`, with predictions up to index `newest`.
  void add_terms(std::vector<Term>& terms, size_t order, size_t newest, size_t from, size_t to) const {
    const std::span<const double> nodes(lambdas_.data() + newest + 1 - order, order);
    const double alpha = sigmas_[to] * std::exp(lambdas_[to]);
    const std::vector<float> weights = stochastic_adams_weights(nodes, lambdas_[from], lambdas_[to], tau_, alpha);
    for (size_t j = 0; j < order; ++j) terms.push_back({weights[j], predictions_[predictions_.size() - order + j]});
  }

  float kept(size_t from, size_t to) const {
    return static_cast<float>(sigmas_[to] / sigmas_[from] * std::exp(-tau_ * tau_ * (lambdas_[to] - lambdas_[from])));
  }

  // Takes the last step again, now with the prediction at its end, and the same noise.
  void correct(size_t i, size_t order) {
    std::vector<Term> terms{{kept(i - 1, i), x_}};
    add_terms(terms, order, i, i - 1, i);
    if (noise_.defined()) terms.push_back({1.0F, noise_});
    x_ = combine(terms);
  }

  Tensor predict(size_t i) {
    const float next = sigmas_[i + 1];
    const double eta = run_.options.eta.value_or(1.0F);
    tau_ = noisy_from_ >= next && next >= noisy_to_ ? eta : 0.0;
    std::vector<Term> terms{{kept(i, i + 1), x_}};
    add_terms(terms, lowered(std::min(kPredictorOrder, predictions_.size()), num_steps(run_) - 1 - i), i, i, i + 1);
    noise_ = Tensor();
    if (tau_ > 0 && run_.options.s_noise > 0) {
      const double h = lambdas_[i + 1] - lambdas_[i];
      const auto deviation = static_cast<float>(next * std::sqrt(-std::expm1(-2.0 * tau_ * tau_ * h)));
      noise_ = combine({{deviation * run_.options.s_noise, run_.noise->draw(sigmas_[i], next)}});
      terms.push_back({1.0F, noise_});
    }
    return combine(terms);
  }

  SamplerRun& run_;
  bool evaluate_corrected_;
  std::vector<float> sigmas_;
  std::vector<double> lambdas_;
  double noisy_from_ = 0;
  double noisy_to_ = 0;
  std::deque<Tensor> predictions_;  // oldest first
  Tensor x_;                        // the state at the start of the step
  Tensor noise_;                    // of the last predictor step
  double tau_ = 0;                  // of the last predictor step
};

}  // namespace

Tensor sample_sa_solver(SamplerRun& run) { return SaSolver(run, false).sample(); }

Tensor sample_sa_solver_pece(SamplerRun& run) { return SaSolver(run, true).sample(); }

}  // namespace veneer::sampling
