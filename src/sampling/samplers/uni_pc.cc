// UniPC (Zhao et al. 2023, "UniPC: A Unified Predictor-Corrector Framework for Fast Sampling of Diffusion Models"): multistep predictor and corrector
// of order up to 3 for the clean-latent prediction, with B(h) = h (bh1) or e^h - 1 (bh2). One evaluation per step: the corrector uses the one that
// the next step needs anyway. Latents are kept with unit variance, x / sqrt(1 + sigma^2), whatever the model's own scaling.
#include <algorithm>
#include <cmath>
#include <deque>

#include "sampling/samplers/families.h"
#include "sampling/samplers/sampler_math.h"

namespace veneer::sampling {
namespace {

constexpr size_t kMaxOrder = 3;
constexpr float kLastSigma = 0.001F;  // stands for 0, whose lambda is infinite

enum class Variant { bh1, bh2 };

// A noise level of the variance preserving process. In f32: at kLastSigma 1 - alpha^2 loses digits, and the result is 2 % off in log-SNR, which is
// part of the reference's pictures.
struct Level {
  explicit Level(float sigma_in) : sigma(sigma_in) {
    const float log_alpha = 0.5F * std::log(1.0F / (sigma * sigma + 1.0F));
    const float variance = 1.0F - std::exp(2.0F * log_alpha);
    alpha = std::exp(log_alpha);
    deviation = std::sqrt(variance);
    lambda = log_alpha - 0.5F * std::log(variance);
  }
  float sigma;
  float alpha;
  float deviation;
  float lambda;
};

struct Point {
  Level level;
  Tensor prediction;
};

class UniPc {
 public:
  UniPc(SamplerRun& run, Variant variant) : run_(run), variant_(variant) {}

  Tensor sample() {
    for (const float sigma : run_.sigmas) levels_.emplace_back(sigma);
    if (run_.sigmas.back() == 0.0F) levels_.back() = Level(kLastSigma);
    const size_t steps = num_steps(run_);
    const size_t order = std::clamp<size_t>(steps - 1, 1, kMaxOrder);
    Tensor x = combine({{levels_.front().alpha, run_.x}});
    history_.push_back({levels_.front(), predict(x, levels_.front())});
    report(run_, 0, x, history_.back().prediction);
    for (size_t i = 1; i < steps; ++i) {
      const Tensor prediction = advance(x, levels_[i], std::min({i, order, steps + 1 - i}), true);
      if (history_.size() == order) history_.pop_front();
      history_.push_back({levels_[i], prediction});
      // The last report comes after the last step.
      if (i + 1 < steps) report(run_, i, x, prediction);
    }
    advance(x, levels_.back(), 1, false);
    if (steps > 1) report(run_, steps - 1, x, history_.back().prediction);
    x = combine({{1.0F / levels_.back().alpha, x}});
    // The state is the one at kLastSigma, in whose scaling a flow model's signal is a little less than whole.
    return run_.sigmas.back() == 0.0F ? run_.model.model_sampling().inverse_noise_scaling({&kLastSigma, 1}, x) : x;
  }

 private:
  Tensor predict(const Tensor& x, const Level& level) { return evaluate(run_, combine({{1.0F / level.alpha, x}}), level.sigma); }

  // Moves x to `level` with the last `order` points, and corrects it with the prediction there, which is returned.
  Tensor advance(Tensor& x, const Level& level, size_t order, bool correct) {
    const Point& last = history_.back();
    const double h = static_cast<double>(level.lambda) - last.level.lambda;
    const double phi_1 = std::expm1(-h);
    const double scale = -level.alpha * (variant_ == Variant::bh1 ? -h : phi_1);

    // Differences to the last prediction per unit of relative time r.
    std::vector<double> r;
    std::vector<Tensor> differences;
    for (size_t k = 1; k < order; ++k) {
      const Point& point = history_[history_.size() - 1 - k];
      r.push_back((static_cast<double>(point.level.lambda) - last.level.lambda) / h);
      const auto per_time = static_cast<float>(1.0 / r.back());
      differences.push_back(combine({{per_time, point.prediction}, {-per_time, last.prediction}}));
    }
    std::vector<Term> base{{level.deviation / last.level.deviation, x}, {static_cast<float>(-level.alpha * phi_1), last.prediction}};

    std::vector<Term> terms = base;
    const std::vector<double> predictor = weights(r, h, phi_1);
    for (size_t k = 0; k < predictor.size(); ++k) terms.push_back({static_cast<float>(scale * predictor[k]), differences[k]});
    const Tensor predicted = combine(terms);
    if (!correct) {
      x = predicted;
      return {};
    }
    Tensor prediction = predict(predicted, level);
    r.push_back(1.0);
    differences.push_back(combine({{1.0F, prediction}, {-1.0F, last.prediction}}));
    terms = base;
    const std::vector<double> corrector = weights(r, h, phi_1);
    for (size_t k = 0; k < corrector.size(); ++k) terms.push_back({static_cast<float>(scale * corrector[k]), differences[k]});
    x = combine(terms);
    return prediction;
  }

  // The coefficients a with sum_k a_k r_k^(p-1) = p! phi_(p+1)(-h) / B(h) for p = 1..n (the paper's eq. 5); 1/2 for a single one.
  std::vector<double> weights(const std::vector<double>& r, double h, double phi_1) const {
    const size_t n = r.size();
    if (n == 0) return {};
    if (n == 1) return {0.5};
    const double b_h = variant_ == Variant::bh1 ? -h : phi_1;
    std::vector<double> powers(n * n);
    std::vector<double> moments(n);
    double phi = phi_1 / -h - 1.0;
    double factorial = 1.0;
    for (size_t p = 0; p < n; ++p) {
      for (size_t k = 0; k < n; ++k) powers[p * n + k] = std::pow(r[k], static_cast<double>(p));
      moments[p] = phi * factorial / b_h;
      factorial *= static_cast<double>(p + 2);
      phi = phi / -h - 1.0 / factorial;
    }
    return solve(powers, moments);
  }

  SamplerRun& run_;
  Variant variant_;
  std::vector<Level> levels_;
  std::deque<Point> history_;  // oldest first
};

}  // namespace

Tensor sample_uni_pc(SamplerRun& run) { return UniPc(run, Variant::bh1).sample(); }

Tensor sample_uni_pc_bh2(SamplerRun& run) { return UniPc(run, Variant::bh2).sample(); }

}  // namespace veneer::sampling
