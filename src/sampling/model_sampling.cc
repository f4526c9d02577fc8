#include "sampling/model_sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int kFlowTimesteps = 1000;
constexpr int kContinuousLevels = 1000;
constexpr int kMaxTimesteps = 1'000'000;
constexpr double kAboveEverySigma = 999999999.9;

std::vector<double> make_betas(const BetaSchedule& schedule) {
  if (schedule.timesteps < 2 || schedule.timesteps > kMaxTimesteps) {
    throw Error(ErrorCode::invalid, "model sampling: timesteps out of range", {{"timesteps", std::to_string(schedule.timesteps)}});
  }
  if (!(schedule.start > 0 && schedule.start < 1 && schedule.end > 0 && schedule.end < 1)) {
    throw Error(ErrorCode::invalid, "model sampling: betas leave (0, 1)",
                {{"start", std::to_string(schedule.start)}, {"end", std::to_string(schedule.end)}});
  }
  const bool in_sqrt = schedule.kind == BetaSchedule::Kind::sqrt_space;
  const double first = in_sqrt ? std::sqrt(schedule.start) : schedule.start;
  const double last = in_sqrt ? std::sqrt(schedule.end) : schedule.end;
  const auto count = static_cast<size_t>(schedule.timesteps);
  const double step = (last - first) / static_cast<double>(count - 1);
  std::vector<double> betas(count);
  for (size_t i = 0; i < count; ++i) {
    // From both ends, so that the ends are met exactly.
    const double value = i < count / 2 ? first + step * static_cast<double>(i) : last - step * static_cast<double>(count - 1 - i);
    betas[i] = in_sqrt ? value * value : value;
  }
  return betas;
}

std::vector<double> sigmas_of(const std::vector<double>& betas) {
  std::vector<double> sigmas(betas.size());
  double alpha_bar = 1.0;
  for (size_t i = 0; i < betas.size(); ++i) {
    alpha_bar *= 1.0 - betas[i];
    sigmas[i] = std::sqrt((1.0 - alpha_bar) / alpha_bar);
  }
  return sigmas;
}

// Lin et al. 2023, algorithm 1: shift and scale sqrt(alpha_bar) so that it ends at 0 and starts where it did. The last value is a tiny positive
// one, since an infinite sigma has no use.
void rescale_to_zero_terminal_snr(std::vector<double>& sigmas) {
  constexpr double kLastAlphaBar = 4.8973451890853435e-08;
  const auto root_alpha_bar = [](double sigma) { return std::sqrt(1.0 / (sigma * sigma + 1.0)); };
  const double first = root_alpha_bar(sigmas.front());
  const double last = root_alpha_bar(sigmas.back());
  for (size_t i = 0; i < sigmas.size(); ++i) {
    const double root = (root_alpha_bar(sigmas[i]) - last) * (first / (first - last));
    const double alpha_bar = i + 1 == sigmas.size() ? kLastAlphaBar : root * root;
    sigmas[i] = std::sqrt((1.0 - alpha_bar) / alpha_bar);
  }
}

template <typename T>
T shifted(T shift, T t) {
  return shift == T{1} ? t : shift * t / (T{1} + (shift - T{1}) * t);
}

void require_f32(const Tensor& tensor) {
  if (tensor.defined() && tensor.dtype() == DType::f32 && tensor.aligned()) return;
  throw Error(ErrorCode::invalid, "model sampling: tensors have to be f32");
}

void require_same_shape(const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return;
  throw Error(ErrorCode::invalid, "model sampling: shapes differ", {{"first", a.shape().to_string()}, {"second", b.shape().to_string()}});
}

// Calls fn(sigma, begin, end) for each run of elements with one sigma.
template <typename Fn>
void for_each_row(std::span<const float> sigma, const Tensor& x, const Fn& fn) {
  require_f32(x);
  const auto count = static_cast<size_t>(x.num_elements());
  if (sigma.size() == 1) {
    fn(sigma[0], size_t{0}, count);
    return;
  }
  if (x.rank() == 0 || sigma.size() != static_cast<size_t>(x.dim(0))) {
    throw Error(ErrorCode::invalid, "model sampling: one sigma for all rows, or one per row",
                {{"sigmas", std::to_string(sigma.size())}, {"shape", x.shape().to_string()}});
  }
  const size_t row = sigma.empty() ? 0 : count / sigma.size();
  for (size_t n = 0; n < sigma.size(); ++n) fn(sigma[n], n * row, (n + 1) * row);
}

}  // namespace

Prediction prediction_from_string(std::string_view name) {
  for (const Prediction p :
       {Prediction::eps, Prediction::v, Prediction::x0, Prediction::img_to_img, Prediction::lcm, Prediction::flow, Prediction::edm}) {
    if (to_string(p) == name) return p;
  }
  throw Error(ErrorCode::invalid, "model sampling: unknown prediction",
              {{"name", std::string(name)}, {"allowed", "eps, v_prediction, x0, img_to_img, lcm, flow, edm"}});
}

std::string_view to_string(Prediction prediction) {
  switch (prediction) {
    case Prediction::eps: return "eps";
    case Prediction::v: return "v_prediction";
    case Prediction::x0: return "x0";
    case Prediction::img_to_img: return "img_to_img";
    case Prediction::lcm: return "lcm";
    case Prediction::flow: return "flow";
    case Prediction::edm: return "edm";
  }
  return "";
}

ModelSampling ModelSampling::discrete(Prediction prediction, const BetaSchedule& betas, bool zero_terminal_snr) {
  return distilled(prediction, betas.timesteps, betas, zero_terminal_snr);
}

ModelSampling ModelSampling::distilled(Prediction prediction, int original_timesteps, const BetaSchedule& betas, bool zero_terminal_snr) {
  if (prediction == Prediction::flow || prediction == Prediction::edm) {
    throw Error(ErrorCode::invalid, "model sampling: flow and edm have no table of betas");
  }
  std::vector<double> sigmas = sigmas_of(make_betas(betas));
  if (original_timesteps < 2 || betas.timesteps % original_timesteps != 0) {
    throw Error(ErrorCode::invalid, "model sampling: the distilled timesteps have to divide the timesteps",
                {{"distilled", std::to_string(original_timesteps)}, {"timesteps", std::to_string(betas.timesteps)}});
  }
  if (zero_terminal_snr) rescale_to_zero_terminal_snr(sigmas);
  ModelSampling out;
  out.prediction_ = prediction;
  out.betas_ = betas;
  out.skip_steps_ = betas.timesteps / original_timesteps;
  const auto skip = static_cast<size_t>(out.skip_steps_);
  for (size_t i = skip - 1; i < sigmas.size(); i += skip) {
    // Logarithms of a distilled table come from the rounded sigmas, as in the reference.
    const double value = skip == 1 ? sigmas[i] : static_cast<double>(static_cast<float>(sigmas[i]));
    out.sigmas_.push_back(static_cast<float>(sigmas[i]));
    out.log_sigmas_.push_back(static_cast<float>(std::log(value)));
  }
  return out;
}

ModelSampling ModelSampling::flow(double shift, double multiplier) {
  if (!(shift > 0) || !std::isfinite(shift) || !(multiplier > 0) || !std::isfinite(multiplier)) {
    throw Error(ErrorCode::invalid, "model sampling: shift and multiplier have to be positive",
                {{"shift", std::to_string(shift)}, {"multiplier", std::to_string(multiplier)}});
  }
  ModelSampling out;
  out.prediction_ = Prediction::flow;
  out.shift_ = shift;
  out.multiplier_ = multiplier;
  for (int t = 1; t <= kFlowTimesteps; ++t) {
    const float timestep = static_cast<float>(t) / static_cast<float>(kFlowTimesteps) * static_cast<float>(multiplier);
    out.sigmas_.push_back(out.sigma(timestep));
  }
  return out;
}

ModelSampling ModelSampling::continuous(Prediction prediction, const ContinuousLevels& levels) {
  if (prediction != Prediction::eps && prediction != Prediction::v && prediction != Prediction::edm) {
    throw Error(ErrorCode::invalid, "model sampling: this prediction has no continuous noise levels",
                {{"prediction", std::string(to_string(prediction))}, {"allowed", "eps, v_prediction, edm"}});
  }
  const bool in_order = levels.sigma_min > 0 && levels.sigma_max > levels.sigma_min && std::isfinite(levels.sigma_max);
  if (!in_order || !(levels.sigma_data > 0) || !std::isfinite(levels.sigma_data)) {
    throw Error(ErrorCode::invalid, "model sampling: noise levels have to be positive and in order",
                {{"sigma_min", std::to_string(levels.sigma_min)},
                 {"sigma_max", std::to_string(levels.sigma_max)},
                 {"sigma_data", std::to_string(levels.sigma_data)},
                 {"allowed", "0 < sigma_min < sigma_max"}});
  }
  ModelSampling out;
  out.prediction_ = prediction;
  out.levels_ = levels;
  const double low = std::log(levels.sigma_min), high = std::log(levels.sigma_max);
  for (int i = 0; i < kContinuousLevels; ++i) {
    out.sigmas_.push_back(std::exp(static_cast<float>(low + (high - low) * i / (kContinuousLevels - 1))));
    out.log_sigmas_.push_back(std::log(out.sigmas_.back()));
  }
  return out;
}

Fingerprint ModelSampling::fingerprint() const {
  FingerprintBuilder builder;
  builder.add("model sampling").add(prediction_).add(shift_).add(multiplier_).add(skip_steps_);
  if (levels_) builder.add("continuous").add(levels_->sigma_data);
  return builder.add_bytes(std::as_bytes(std::span(sigmas_))).add_bytes(std::as_bytes(std::span(log_sigmas_))).finish();
}

float ModelSampling::timestep(float sigma) const {
  if (is_flow()) return sigma * static_cast<float>(multiplier_);
  const float log_sigma = std::log(sigma);
  if (levels_) return 0.25F * log_sigma;
  size_t best = 0;
  float best_distance = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < log_sigmas_.size(); ++i) {
    const float distance = std::abs(log_sigma - log_sigmas_[i]);
    if (distance < best_distance) {
      best_distance = distance;
      best = i;
    }
  }
  return static_cast<float>(best) * static_cast<float>(skip_steps_) + static_cast<float>(skip_steps_ - 1);
}

float ModelSampling::sigma(float timestep) const {
  if (is_flow()) return shifted(static_cast<float>(shift_), timestep / static_cast<float>(multiplier_));
  if (levels_) return std::exp(timestep / 0.25F);
  const float position = skip_steps_ == 1 ? timestep : (timestep - static_cast<float>(skip_steps_ - 1)) / static_cast<float>(skip_steps_);
  const float t = std::isnan(position) ? 0.0F : std::clamp(position, 0.0F, static_cast<float>(sigmas_.size() - 1));
  const auto low = static_cast<size_t>(std::floor(t));
  const auto high = static_cast<size_t>(std::ceil(t));
  const float w = t - std::floor(t);
  return std::exp((1.0F - w) * log_sigmas_[low] + w * log_sigmas_[high]);
}

double ModelSampling::percent_to_sigma(double percent) const {
  if (percent <= 0) return is_flow() ? 1.0 : kAboveEverySigma;
  if (percent >= 1) return 0.0;
  if (is_flow()) return shifted(shift_, 1.0 - percent);
  if (levels_) {
    const double low = std::log(levels_->sigma_min), high = std::log(levels_->sigma_max);
    return std::exp((high - low) * (1.0 - percent) + low);
  }
  const double last = static_cast<double>(sigmas_.size()) * skip_steps_ - 1.0;
  return static_cast<double>(sigma(static_cast<float>((1.0 - percent) * last)));
}

bool ModelSampling::is_max_denoise(float sigma) const {
  constexpr double kRelative = 1e-5;
  const double max = sigma_max();
  const double start = sigma;
  return start > max || std::abs(max - start) <= kRelative * std::max(std::abs(max), std::abs(start));
}

float ModelSampling::half_log_snr(float sigma) const {
  if (is_flow()) return -std::log(sigma / (1.0F - sigma));
  return -std::log(sigma);
}

float ModelSampling::sigma_of_half_log_snr(float half_log_snr) const {
  if (is_flow()) return 1.0F / (1.0F + std::exp(half_log_snr));
  return std::exp(-half_log_snr);
}

Tensor ModelSampling::calculate_input(std::span<const float> sigma, const Tensor& x) const {
  if (is_flow() || prediction_ == Prediction::img_to_img) {
    for_each_row(sigma, x, [](float, size_t, size_t) {});
    return x;
  }
  Tensor out = Tensor::empty(x.shape(), DType::f32);
  float* to = out.mutable_data<float>();
  const float data_variance = this->data_variance();
  for_each_row(sigma, x, [&](float s, size_t begin, size_t end) {
    const float scale = std::sqrt(s * s + data_variance);
    for (size_t i = begin; i < end; ++i) to[i] = x.data<float>()[i] / scale;
  });
  return out;
}

Tensor ModelSampling::calculate_denoised(std::span<const float> sigma, const Tensor& model_output, const Tensor& x) const {
  require_f32(model_output);
  require_f32(x);
  require_same_shape(model_output, x);
  Tensor result = Tensor::empty(x.shape(), DType::f32);
  float* out = result.mutable_data<float>();
  const float* in = x.data<float>();
  const float* y = model_output.data<float>();
  const float data_variance = this->data_variance(), data = std::sqrt(data_variance);
  for_each_row(sigma, x, [&](float s, size_t begin, size_t end) {
    switch (prediction_) {
      case Prediction::eps:
      case Prediction::flow:
        for (size_t i = begin; i < end; ++i) out[i] = in[i] - y[i] * s;
        break;
      case Prediction::v:
      case Prediction::edm: {
        const float variance = s * s + data_variance;
        const float root = std::sqrt(variance);
        const float share = prediction_ == Prediction::edm ? -data : data;
        for (size_t i = begin; i < end; ++i) out[i] = in[i] * data_variance / variance - y[i] * s * share / root;
        break;
      }
      case Prediction::x0:
      case Prediction::img_to_img: std::copy(y + begin, y + end, out + begin); break;
      case Prediction::lcm: {
        // Luo et al. 2023, eq. 9: the boundary condition f(x, 0) = x, with sigma_data 0.5 and timesteps scaled by 10.
        constexpr float kDataVariance = 0.25F;
        const float t = timestep(s) * 10.0F;
        const float c_skip = kDataVariance / (t * t + kDataVariance);
        const float c_out = t / std::sqrt(t * t + kDataVariance);
        for (size_t i = begin; i < end; ++i) out[i] = c_out * (in[i] - y[i] * s) + c_skip * in[i];
        break;
      }
    }
  });
  return result;
}

Tensor ModelSampling::noise_scaling(std::span<const float> sigma, const Tensor& noise, const Tensor& latent, bool max_denoise) const {
  require_f32(noise);
  require_f32(latent);
  require_same_shape(noise, latent);
  Tensor result = Tensor::empty(noise.shape(), DType::f32);
  float* out = result.mutable_data<float>();
  for_each_row(sigma, noise, [&](float s, size_t begin, size_t end) {
    const float* n = noise.data<float>();
    const float* l = latent.data<float>();
    if (is_flow()) {
      for (size_t i = begin; i < end; ++i) out[i] = s * n[i] + (1.0F - s) * l[i];
      return;
    }
    const float scale = max_denoise ? std::sqrt(1.0F + s * s) : s;
    for (size_t i = begin; i < end; ++i) out[i] = n[i] * scale + l[i];
  });
  return result;
}

Tensor ModelSampling::inverse_noise_scaling(std::span<const float> sigma, const Tensor& latent) const {
  if (!is_flow()) {
    for_each_row(sigma, latent, [](float, size_t, size_t) {});
    return latent;
  }
  Tensor result = Tensor::empty(latent.shape(), DType::f32);
  float* out = result.mutable_data<float>();
  for_each_row(sigma, latent, [&](float s, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out[i] = latent.data<float>()[i] / (1.0F - s);
  });
  return result;
}

}  // namespace veneer::sampling
