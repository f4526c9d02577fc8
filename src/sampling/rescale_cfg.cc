#include "sampling/rescale_cfg.h"

#include <cmath>
#include <vector>

namespace veneer::sampling {
namespace {

// Of a sample: n - 1 in the denominator. Sums in double.
double standard_deviation(const std::vector<float>& values) {
  double mean = 0;
  for (const float v : values) mean += static_cast<double>(v);
  mean /= static_cast<double>(values.size());
  double squares = 0;
  for (const float v : values) squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

Tensor rescale_cfg(const Tensor& x, float sigma, const Predictions& predictions, double scale, double multiplier) {
  Tensor out = Tensor::empty(x.shape(), DType::f32);
  const float variance = sigma * sigma + 1.0F;
  const float root = std::sqrt(variance);
  const float strength = static_cast<float>(scale);
  const auto row_size = static_cast<size_t>(x.shape().num_elements_from(1));
  std::vector<float> positive(row_size);
  std::vector<float> guided(row_size);
  for (int64_t n = 0; n < x.dim(0); ++n) {
    const size_t begin = static_cast<size_t>(n) * row_size;
    const auto noisy = x.floats().subspan(begin, row_size);
    const auto cond = predictions.cond.floats().subspan(begin, row_size);
    const auto uncond = predictions.uncond.defined() ? predictions.uncond.floats().subspan(begin, row_size) : std::span<const float>();
    // A velocity has no meaning without noise; any divisor gives plain guidance then.
    const float level = sigma > 0 ? sigma : 1.0F;
    const auto velocity = [&](size_t i, float clean) { return (noisy[i] / variance - clean) * root / level; };
    for (size_t i = 0; i < row_size; ++i) {
      positive[i] = velocity(i, cond[i]);
      const float negative = velocity(i, uncond.empty() ? 0.0F : uncond[i]);
      guided[i] = negative + strength * (positive[i] - negative);
    }
    const double spread = standard_deviation(guided);
    const double ratio =
        row_size > 1 && spread > 0 && sigma > 0 ? standard_deviation(positive) / spread : 1.0;  // a constant row has no contrast to keep
    const float factor = static_cast<float>(multiplier * ratio + (1.0 - multiplier));
    const auto to = out.mutable_floats().subspan(begin, row_size);
    for (size_t i = 0; i < row_size; ++i) to[i] = noisy[i] / variance - guided[i] * factor * level / root;
  }
  return out;
}

}  // namespace veneer::sampling
