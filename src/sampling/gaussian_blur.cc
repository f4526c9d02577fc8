#include "sampling/gaussian_blur.h"

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "sampling/nchw.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int64_t kReach = 4;
using Kernel = std::array<float, 2 * kReach + 1>;

Kernel gaussian(double sigma) {
  Kernel kernel;
  float sum = 0;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const float t = (static_cast<float>(i) - static_cast<float>(kReach)) / static_cast<float>(sigma);
    kernel[i] = std::exp(-0.5F * t * t);
    sum += kernel[i];
  }
  for (float& k : kernel) k /= sum;
  return kernel;
}

int64_t mirrored(int64_t i, int64_t size) {
  if (i < 0) return -i;
  return i < size ? i : 2 * (size - 1) - i;
}

// One axis of a plane: element i of line j is at j * line_stride + i * stride.
void blur_lines(const float* from, float* to, const Kernel& kernel, int64_t lines, int64_t line_stride, int64_t size, int64_t stride) {
  for (int64_t j = 0; j < lines; ++j) {
    for (int64_t i = 0; i < size; ++i) {
      float sum = 0;
      for (int64_t k = -kReach; k <= kReach; ++k) {
        sum += kernel[static_cast<size_t>(k + kReach)] * from[j * line_stride + mirrored(i + k, size) * stride];
      }
      to[j * line_stride + i * stride] = sum;
    }
  }
}

}  // namespace

Tensor gaussian_blur(const Tensor& latent, double sigma) {
  const Tensor in = require_f32(latent, 4, "blur");
  const int64_t height = in.dim(2);
  const int64_t width = in.dim(3);
  if (height <= kReach || width <= kReach || !std::isfinite(sigma) || sigma < 0) {
    throw Error(ErrorCode::invalid, "blur: latent is too small, or sigma no length",
                {{"shape", in.shape().to_string()}, {"sigma", std::to_string(sigma)}});
  }
  if (static_cast<float>(sigma) == 0.0F) return in.clone();
  const Kernel kernel = gaussian(sigma);
  Tensor out = Tensor::empty(in.shape(), DType::f32);
  const int64_t size = height * width;
  std::vector<float> rows(static_cast<size_t>(size));
  for (int64_t p = 0; p < in.dim(0) * in.dim(1); ++p) {
    blur_lines(in.data<float>() + p * size, rows.data(), kernel, height, width, width, 1);
    blur_lines(rows.data(), out.mutable_data<float>() + p * size, kernel, width, 1, height, width);
  }
  return out;
}

}  // namespace veneer::sampling
