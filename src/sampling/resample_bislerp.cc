#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "sampling/nchw.h"
#include "sampling/resample_methods.h"

namespace veneer::sampling::detail {
namespace {

// Between which two source elements a target element lies, and how far from the first.
struct Between {
  int64_t a = 0;
  int64_t b = 0;
  float ratio = 0;
};

// The reference resamples the lists 0, 1, 2, ... and 1, 2, ..., last, last bilinearly in f32 and truncates: so do these coordinates.
std::vector<Between> make_betweens(int64_t in, int64_t out) {
  std::vector<Between> betweens(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const LinearPosition p = linear_position(i, in, out);
    const auto interpolated = [&](int64_t low, int64_t high) {
      const float part = (1.0F - p.t) * static_cast<float>(low);
      return std::fma(p.t, static_cast<float>(high), part);
    };
    const float first = interpolated(p.low, p.high);
    const float second = interpolated(std::min(p.low + 1, in - 1), std::min(p.high + 1, in - 1));
    betweens[static_cast<size_t>(i)] = {static_cast<int64_t>(first), static_cast<int64_t>(second), first - std::floor(first)};
  }
  return betweens;
}

float norm(const float* v, int64_t channels) {
  float sum = 0;
  for (int64_t c = 0; c < channels; ++c) sum += v[c] * v[c];
  return std::sqrt(sum);
}

// Turns from a (ratio 0) to b (ratio 1), the length going along linearly. Vectors that point the same way give a, opposite ones the straight mix.
void slerp(const float* a, const float* b, float ratio, int64_t channels, float* out) {
  constexpr float kSame = 1e-5F;
  const float norm_a = norm(a, channels);
  const float norm_b = norm(b, channels);
  float dot = 0;
  for (int64_t c = 0; c < channels; ++c) {
    if (norm_a != 0 && norm_b != 0) dot += (a[c] / norm_a) * (b[c] / norm_b);
  }
  if (dot > 1 - kSame) {
    std::copy_n(a, channels, out);
    return;
  }
  if (dot < kSame - 1) {
    for (int64_t c = 0; c < channels; ++c) out[c] = a[c] * (1 - ratio) + b[c] * ratio;
    return;
  }
  const float omega = std::acos(dot);
  const float sine = std::sin(omega);
  const float weight_a = std::sin((1 - ratio) * omega) / sine;
  const float weight_b = std::sin(ratio * omega) / sine;
  const float length = norm_a * (1 - ratio) + norm_b * ratio;
  for (int64_t c = 0; c < channels; ++c) {
    const float unit_a = norm_a == 0 ? 0 : a[c] / norm_a;
    const float unit_b = norm_b == 0 ? 0 : b[c] / norm_b;
    out[c] = (weight_a * unit_a + weight_b * unit_b) * length;
  }
}

}  // namespace

Tensor resample_bislerp(const Tensor& samples, int64_t width, int64_t height) {
  const int64_t n = samples.dim(0);
  const int64_t channels = samples.dim(1);
  const int64_t in_height = samples.dim(2);
  const int64_t in_width = samples.dim(3);
  const Tensor pixels = to_pixels(samples);  // a position's channels lie side by side
  const std::vector<Between> across = make_betweens(in_width, width);
  const std::vector<Between> down = make_betweens(in_height, height);
  Tensor rows = Tensor::empty(Shape{n, in_height, width, channels}, DType::f32);
  Tensor out = Tensor::empty(Shape{n, height, width, channels}, DType::f32);
  parallel_for(static_cast<size_t>(n * in_height), 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const float* source = pixels.data<float>() + static_cast<int64_t>(row) * in_width * channels;
      float* target = rows.mutable_data<float>() + static_cast<int64_t>(row) * width * channels;
      for (int64_t x = 0; x < width; ++x) {
        const Between& between = across[static_cast<size_t>(x)];
        slerp(source + between.a * channels, source + between.b * channels, between.ratio, channels, target + x * channels);
      }
    }
  });
  parallel_for(static_cast<size_t>(n * height), 1, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const Between& between = down[row % static_cast<size_t>(height)];
      const int64_t image = static_cast<int64_t>(row) / height;
      const float* a = rows.data<float>() + (image * in_height + between.a) * width * channels;
      const float* b = rows.data<float>() + (image * in_height + between.b) * width * channels;
      float* target = out.mutable_data<float>() + static_cast<int64_t>(row) * width * channels;
      for (int64_t x = 0; x < width; ++x) slerp(a + x * channels, b + x * channels, between.ratio, channels, target + x * channels);
    }
  });
  return to_planes(out);
}

}  // namespace veneer::sampling::detail
