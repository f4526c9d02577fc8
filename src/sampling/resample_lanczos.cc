// Lanczos resampling on 8-bit values with fixed-point weights, as Pillow's Image.resize computes it (its results are what workflows expect to the
// bit).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/parallel.h"
#include "sampling/resample_methods.h"
#include "veneer/error.h"

namespace veneer::sampling::detail {
namespace {

constexpr double kLobes = 3.0;
// An 8-bit value times a weight, with two bits to spare for sums that overshoot, has to fit 32 bits.
constexpr int kPrecisionBits = 32 - 8 - 2;

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return -kLobes <= x && x < kLobes ? sinc(x) * sinc(x / kLobes) : 0.0; }

// One target element: weights (in units of 2^-22, summing up to about 1) of `weights.size()` source elements from `first` on.
struct Window {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Window> make_windows(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double widening = std::max(scale, 1.0);  // shrinking: the kernel covers what a target element covers
  const double support = kLobes * widening;
  std::vector<Window> windows(static_cast<size_t>(out));
  std::vector<double> weights;
  for (size_t i = 0; i < windows.size(); ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(static_cast<int64_t>(std::floor(center - support + 0.5)), 0);
    const int64_t end = std::min(static_cast<int64_t>(std::floor(center + support + 0.5)), in);
    weights.clear();
    double sum = 0;
    for (int64_t s = first; s < end; ++s) {
      weights.push_back(lanczos((static_cast<double>(s) - center + 0.5) * (1.0 / widening)));
      sum += weights.back();
    }
    windows[i].first = first;
    for (double w : weights) {
      if (sum != 0.0) w /= sum;
      const double fixed = w * (1 << kPrecisionBits);
      windows[i].weights.push_back(static_cast<int32_t>(fixed < 0 ? fixed - 0.5 : fixed + 0.5));
    }
  }
  return windows;
}

uint8_t round_to_byte(int32_t sum) { return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBits, 0, 255)); }
constexpr int32_t kHalf = 1 << (kPrecisionBits - 1);

void resample_rows(const uint8_t* in, uint8_t* out, int64_t rows, int64_t in_width, const std::vector<Window>& windows) {
  for (int64_t y = 0; y < rows; ++y) {
    for (const Window& window : windows) {
      const uint8_t* source = in + y * in_width + window.first;
      int32_t sum = kHalf;
      for (size_t k = 0; k < window.weights.size(); ++k) sum += source[k] * window.weights[k];
      *out++ = round_to_byte(sum);
    }
  }
}

void resample_columns(const uint8_t* in, uint8_t* out, int64_t width, const std::vector<Window>& windows) {
  std::vector<int32_t> sums(static_cast<size_t>(width));
  for (const Window& window : windows) {
    std::ranges::fill(sums, kHalf);
    const uint8_t* source = in + window.first * width;
    for (const int32_t weight : window.weights) {
      for (int32_t& sum : sums) sum += *source++ * weight;
    }
    out = std::ranges::transform(sums, out, round_to_byte).out;
  }
}

std::vector<uint8_t> resample_plane(std::vector<uint8_t> plane, int64_t in_width, int64_t in_height, int64_t width, int64_t height) {
  if (width != in_width) {
    std::vector<uint8_t> rows(static_cast<size_t>(in_height * width));
    resample_rows(plane.data(), rows.data(), in_height, in_width, make_windows(in_width, width));
    plane = std::move(rows);
  }
  if (height != in_height) {
    std::vector<uint8_t> columns(static_cast<size_t>(height * width));
    resample_columns(plane.data(), columns.data(), width, make_windows(in_height, height));
    plane = std::move(columns);
  }
  return plane;
}

uint8_t to_byte(float value) {
  const float scaled = 255.0F * value;
  if (!(scaled > 0.0F)) return 0;  // and NaN
  return static_cast<uint8_t>(std::min(scaled, 255.0F));
}

// Colours are resampled as what they contribute, so that the colour of transparent pixels does not bleed in.
uint8_t times_alpha(uint8_t colour, uint8_t alpha) {
  const unsigned product = unsigned{colour} * alpha + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}
uint8_t over_alpha(uint8_t colour, uint8_t alpha) {
  if (alpha == 0 || alpha == 255) return colour;
  return static_cast<uint8_t>(std::min(255U * colour / alpha, 255U));
}

void resample_picture(const float* in, float* out, int64_t channels, const Shape& from, const Shape& to) {
  const int64_t in_size = from[2] * from[3];
  const int64_t size = to[2] * to[3];
  std::vector<std::vector<uint8_t>> planes(static_cast<size_t>(channels));
  for (size_t c = 0; c < planes.size(); ++c) {
    planes[c].resize(static_cast<size_t>(in_size));
    std::transform(in + static_cast<int64_t>(c) * in_size, in + static_cast<int64_t>(c + 1) * in_size, planes[c].begin(), to_byte);
  }
  const bool same_size = from[2] == to[2] && from[3] == to[3];
  const bool has_alpha = (channels == 2 || channels == 4) && !same_size;
  const size_t alpha = planes.size() - 1;
  for (size_t c = 0; has_alpha && c < alpha; ++c) {
    std::transform(planes[c].begin(), planes[c].end(), planes[alpha].begin(), planes[c].begin(), times_alpha);
  }
  for (auto& plane : planes) plane = resample_plane(std::move(plane), from[3], from[2], to[3], to[2]);
  for (size_t c = 0; has_alpha && c < alpha; ++c) {
    std::transform(planes[c].begin(), planes[c].end(), planes[alpha].begin(), planes[c].begin(), over_alpha);
  }
  for (size_t c = 0; c < planes.size(); ++c) {
    std::transform(planes[c].begin(), planes[c].end(), out + static_cast<int64_t>(c) * size,
                   [](uint8_t v) { return static_cast<float>(v) / 255.0F; });
  }
}

}  // namespace

Tensor resample_lanczos(const Tensor& samples, int64_t width, int64_t height) {
  const int64_t channels = samples.dim(1);
  if (channels < 1 || channels > 4) {
    throw Error(ErrorCode::invalid, "resample: lanczos works on pictures of 1 to 4 channels", {{"shape", samples.shape().to_string()}});
  }
  Tensor out = Tensor::empty(Shape{samples.dim(0), channels, height, width}, DType::f32);
  parallel_for(static_cast<size_t>(samples.dim(0)), 1, [&](size_t begin, size_t end) {
    for (size_t n = begin; n < end; ++n) {
      const int64_t i = static_cast<int64_t>(n);
      resample_picture(samples.data<float>() + i * samples.shape().num_elements_from(1),
                       out.mutable_data<float>() + i * out.shape().num_elements_from(1), channels, samples.shape(), out.shape());
    }
  });
  return out;
}

}  // namespace veneer::sampling::detail
