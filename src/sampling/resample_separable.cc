#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "sampling/resample_methods.h"

namespace veneer::sampling::detail {
namespace {

// For each target index the source indices that it is made of and their weights: taps [first[i], first[i + 1]).
struct AxisTaps {
  std::vector<size_t> first{0};
  std::vector<int64_t> index;
  std::vector<float> weight;

  void add(int64_t source, float w) {
    index.push_back(source);
    weight.push_back(w);
  }
  void end_target() { first.push_back(index.size()); }
};

float source_coordinate(int64_t target, float scale) { return std::fma(scale, static_cast<float>(target) + 0.5F, -0.5F); }

// Keys' cubic convolution kernel at distances |x| <= 1 and 1 < |x| < 2.
float cubic_near(float x) {
  constexpr float kA = -0.75F;
  return ((kA + 2) * x - (kA + 3)) * x * x + 1;
}
float cubic_far(float x) {
  constexpr float kA = -0.75F;
  return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
}

void add_target(AxisTaps& taps, ResampleMethod method, int64_t target, int64_t in, int64_t out) {
  const float scale = static_cast<float>(in) / static_cast<float>(out);
  switch (method) {
    case ResampleMethod::area: {
      const int64_t begin = target * in / out;
      const int64_t end = ((target + 1) * in + out - 1) / out;
      for (int64_t s = begin; s < end; ++s) taps.add(s, 1.0F / static_cast<float>(end - begin));
      break;
    }
    case ResampleMethod::bilinear: {
      const LinearPosition position = linear_position(target, in, out);
      taps.add(position.low, 1.0F - position.t);
      taps.add(position.high, position.t);
      break;
    }
    case ResampleMethod::bicubic: {
      const float x = source_coordinate(target, scale);
      const float low = std::floor(x);
      const float t = x - low;
      const float weights[] = {cubic_far(t + 1), cubic_near(t), cubic_near(1 - t), cubic_far(2 - t)};
      for (int64_t k = 0; k < 4; ++k) taps.add(std::clamp<int64_t>(static_cast<int64_t>(low) + k - 1, 0, in - 1), weights[k]);
      break;
    }
    default: {
      const float x = std::floor((static_cast<float>(target) + 0.5F) * scale);
      taps.add(std::min(static_cast<int64_t>(x), in - 1), 1.0F);
    }
  }
  taps.end_target();
}

AxisTaps make_taps(ResampleMethod method, int64_t in, int64_t out) {
  AxisTaps taps;
  for (int64_t target = 0; target < out; ++target) add_target(taps, method, target, in, out);
  return taps;
}

void resample_rows(const float* in, float* out, int64_t rows, int64_t in_width, int64_t out_width, const AxisTaps& taps) {
  for (int64_t y = 0; y < rows; ++y) {
    const float* source = in + y * in_width;
    float* target = out + y * out_width;
    for (size_t x = 0; x < static_cast<size_t>(out_width); ++x) {
      size_t k = taps.first[x];
      float sum = taps.weight[k] * source[taps.index[k]];
      for (++k; k < taps.first[x + 1]; ++k) sum += taps.weight[k] * source[taps.index[k]];
      target[x] = sum;
    }
  }
}

void resample_columns(const float* in, float* out, int64_t width, int64_t out_height, const AxisTaps& taps) {
  for (size_t y = 0; y < static_cast<size_t>(out_height); ++y) {
    float* target = out + static_cast<int64_t>(y) * width;
    for (size_t k = taps.first[y]; k < taps.first[y + 1]; ++k) {
      const float* source = in + taps.index[k] * width;
      const float weight = taps.weight[k];
      if (k == taps.first[y]) {
        for (int64_t x = 0; x < width; ++x) target[x] = weight * source[x];
      } else {
        for (int64_t x = 0; x < width; ++x) target[x] += weight * source[x];
      }
    }
  }
}

}  // namespace

LinearPosition linear_position(int64_t target, int64_t in, int64_t out) {
  const float x = std::max(source_coordinate(target, static_cast<float>(in) / static_cast<float>(out)), 0.0F);
  const int64_t low = std::min(static_cast<int64_t>(x), in - 1);
  return {low, std::min(low + 1, in - 1), std::clamp(x - static_cast<float>(low), 0.0F, 1.0F)};
}

Tensor resample_separable(const Tensor& samples, int64_t width, int64_t height, ResampleMethod method) {
  const int64_t in_height = samples.dim(2);
  const int64_t in_width = samples.dim(3);
  const AxisTaps across = make_taps(method, in_width, width);
  const AxisTaps down = make_taps(method, in_height, height);
  Tensor out = Tensor::empty(Shape{samples.dim(0), samples.dim(1), height, width}, DType::f32);
  const float* in = samples.data<float>();
  float* target = out.mutable_data<float>();
  parallel_for(static_cast<size_t>(samples.dim(0) * samples.dim(1)), 1, [&](size_t begin, size_t end) {
    std::vector<float> rows(static_cast<size_t>(in_height * width));
    for (size_t plane = begin; plane < end; ++plane) {
      resample_rows(in + static_cast<int64_t>(plane) * in_height * in_width, rows.data(), in_height, in_width, width, across);
      resample_columns(rows.data(), target + static_cast<int64_t>(plane) * height * width, width, height, down);
    }
  });
  return out;
}

}  // namespace veneer::sampling::detail
