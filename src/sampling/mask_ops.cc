#include "sampling/mask_ops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include "sampling/resample.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

template <typename F>
Tensor mapped(const Tensor& mask, F f) {
  const Tensor in = mask_as_batch(mask);
  Tensor out = Tensor::empty(in.shape(), DType::f32);
  std::ranges::transform(in.floats(), out.mutable_data<float>(), f);
  return out;
}

}  // namespace

Tensor mask_as_batch(const Tensor& mask) {
  if (!mask.defined() || mask.rank() < 2 || mask.num_elements() == 0) {
    throw Error(ErrorCode::invalid, "mask: tensor is no mask", {{"shape", mask.defined() ? mask.shape().to_string() : "none"}});
  }
  const int64_t height = mask.dim(mask.rank() - 2);
  const int64_t width = mask.dim(mask.rank() - 1);
  return to_dtype(mask, DType::f32).reshape(Shape{mask.num_elements() / (height * width), height, width});
}

Tensor resize_mask(const Tensor& mask, int64_t height, int64_t width) {
  Tensor in = mask_as_batch(mask);
  if (in.dim(1) == height && in.dim(2) == width) return in;
  const Tensor out = resample(in.reshape(Shape{1, in.dim(0), in.dim(1), in.dim(2)}), width, height, ResampleMethod::bilinear);
  return out.reshape(Shape{in.dim(0), height, width});
}

Tensor reshape_mask(const Tensor& mask, const Shape& shape) {
  if (shape.rank() != 4) throw Error(ErrorCode::invalid, "mask: samples have four dimensions", {{"shape", shape.to_string()}});
  const Tensor rows = repeat_to_batch(resize_mask(mask, shape[2], shape[3]), shape[0]);
  Tensor out = Tensor::empty(shape, DType::f32);
  const int64_t size = shape[2] * shape[3];
  for (int64_t p = 0; p < shape[0] * shape[1]; ++p) {
    std::copy_n(rows.data<float>() + p / shape[1] * size, size, out.mutable_data<float>() + p * size);
  }
  return out;
}

Box mask_bounds(const Tensor& mask) {
  const Tensor in = mask_as_batch(mask);
  const int64_t height = in.dim(1);
  const int64_t width = in.dim(2);
  int64_t top = height, bottom = -1, left = width, right = -1;
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    if (in.data<float>()[i] == 0.0F) continue;
    const int64_t y = i / width % height;
    const int64_t x = i % width;
    top = std::min(top, y);
    bottom = std::max(bottom, y);
    left = std::min(left, x);
    right = std::max(right, x);
  }
  if (bottom < 0) return {};
  return {top, left, bottom - top + 1, right - left + 1};
}

Tensor solid_mask(float value, int64_t width, int64_t height) {
  if (width < 1 || height < 1) {
    throw Error(ErrorCode::invalid, "mask: size out of range", {{"width", std::to_string(width)}, {"height", std::to_string(height)}});
  }
  Tensor out = Tensor::empty(Shape{1, height, width}, DType::f32);
  std::ranges::fill(out.mutable_floats(), value);
  return out;
}

Tensor invert_mask(const Tensor& mask) {
  return mapped(mask, [](float v) { return 1.0F - v; });
}

Tensor threshold_mask(const Tensor& mask, float value) {
  return mapped(mask, [value](float v) { return v > value ? 1.0F : 0.0F; });
}

Tensor crop_mask(const Tensor& mask, const Box& box) { return crop_planes(mask_as_batch(mask), box); }

Tensor grow_mask(const Tensor& mask, int64_t expand, bool tapered_corners) {
  Tensor now = mask_as_batch(mask).clone();
  const int64_t height = now.dim(1);
  const int64_t width = now.dim(2);
  const bool dilate = expand > 0;
  // More rounds than the longest way through the mask change nothing.
  const int64_t rounds = std::min(std::max(expand, -std::max(expand, -(height + width))), height + width);
  for (int64_t round = 0; round < rounds; ++round) {
    Tensor next = Tensor::empty(now.shape(), DType::f32);
    for (int64_t m = 0; m < now.dim(0); ++m) {
      const float* in = now.data<float>() + m * height * width;
      float* out = next.mutable_data<float>() + m * height * width;
      for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
          float best = in[y * width + x];
          for (int64_t ny = std::max<int64_t>(y - 1, 0); ny <= std::min(y + 1, height - 1); ++ny) {
            for (int64_t nx = std::max<int64_t>(x - 1, 0); nx <= std::min(x + 1, width - 1); ++nx) {
              if (tapered_corners && ny != y && nx != x) continue;
              const float v = in[ny * width + nx];
              best = dilate ? std::max(best, v) : std::min(best, v);
            }
          }
          out[y * width + x] = best;
        }
      }
    }
    const bool same = std::ranges::equal(now.floats(), next.floats());
    now = std::move(next);
    if (same) break;
  }
  return now;
}

Tensor feather_mask(const Tensor& mask, const Feather& feather) {
  const auto ramp = [](int64_t distance, int64_t n) { return distance < n ? static_cast<float>(distance + 1) / static_cast<float>(n) : 1.0F; };
  Tensor out = mask_as_batch(mask).clone();
  const int64_t height = out.dim(1);
  const int64_t width = out.dim(2);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const int64_t x = i % width;
    const int64_t y = i / width % height;
    float& v = out.mutable_data<float>()[i];
    v *= ramp(x, std::min(feather.left, width)) * ramp(width - 1 - x, std::min(feather.right, width));
    v *= ramp(y, std::min(feather.top, height)) * ramp(height - 1 - y, std::min(feather.bottom, height));
  }
  return out;
}

MaskOperation mask_operation_from_string(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, MaskOperation>, 6> kOperations = {{{"multiply", MaskOperation::multiply},
                                                                                      {"add", MaskOperation::add},
                                                                                      {"subtract", MaskOperation::subtract},
                                                                                      {"and", MaskOperation::logical_and},
                                                                                      {"or", MaskOperation::logical_or},
                                                                                      {"xor", MaskOperation::logical_xor}}};
  for (const auto& [text, operation] : kOperations) {
    if (text == name) return operation;
  }
  throw Error(ErrorCode::invalid, "mask: unknown operation",
              {{"operation", std::string(name)}, {"allowed", "multiply, add, subtract, and, or, xor"}});
}

Tensor combine_masks(const Tensor& destination, const Tensor& source, int64_t x, int64_t y, MaskOperation operation) {
  if (x < 0 || y < 0) throw Error(ErrorCode::invalid, "mask: position is negative", {{"x", std::to_string(x)}, {"y", std::to_string(y)}});
  Tensor out = mask_as_batch(destination).clone();
  const Tensor in = repeat_to_batch(mask_as_batch(source), out.dim(0));
  const auto combined = [operation](float a, float b) {
    const bool bit_a = std::nearbyint(a) != 0;
    const bool bit_b = std::nearbyint(b) != 0;
    switch (operation) {
      case MaskOperation::multiply: return a * b;
      case MaskOperation::add: return a + b;
      case MaskOperation::subtract: return a - b;
      case MaskOperation::logical_and: return bit_a && bit_b ? 1.0F : 0.0F;
      case MaskOperation::logical_or: return bit_a || bit_b ? 1.0F : 0.0F;
      default: return bit_a != bit_b ? 1.0F : 0.0F;
    }
  };
  const int64_t rows = std::min(in.dim(1), out.dim(1) - std::min(y, out.dim(1)));
  const int64_t columns = std::min(in.dim(2), out.dim(2) - std::min(x, out.dim(2)));
  for (int64_t m = 0; m < out.dim(0); ++m) {
    for (int64_t sy = 0; sy < rows; ++sy) {
      for (int64_t sx = 0; sx < columns; ++sx) {
        float& target = out.mutable_data<float>()[(m * out.dim(1) + y + sy) * out.dim(2) + x + sx];
        target = combined(target, in.data<float>()[(m * in.dim(1) + sy) * in.dim(2) + sx]);
      }
    }
  }
  for (float& v : out.mutable_floats()) v = std::clamp(v, 0.0F, 1.0F);
  return out;
}

Tensor mask_to_image(const Tensor& mask) {
  const Tensor in = mask_as_batch(mask);
  Tensor out = Tensor::empty(Shape{in.dim(0), in.dim(1), in.dim(2), 3}, DType::f32);
  for (int64_t i = 0; i < in.num_elements(); ++i) std::fill_n(out.mutable_data<float>() + 3 * i, 3, in.data<float>()[i]);
  return out;
}

Tensor image_to_mask(const Tensor& image, int64_t channel) {
  const Tensor in = require_f32(image, 4, "image");
  if (channel < 0 || channel >= in.dim(3)) {
    throw Error(ErrorCode::invalid, "image: no such channel", {{"channel", std::to_string(channel)}, {"shape", in.shape().to_string()}});
  }
  Tensor out = Tensor::empty(Shape{in.dim(0), in.dim(1), in.dim(2)}, DType::f32);
  for (int64_t i = 0; i < out.num_elements(); ++i) out.mutable_data<float>()[i] = in.data<float>()[i * in.dim(3) + channel];
  return out;
}

Tensor color_to_mask(const Tensor& image, uint32_t rgb) {
  const Tensor in = require_f32(image, 4, "image");
  if (in.dim(3) < 3) throw Error(ErrorCode::invalid, "image: no colours", {{"shape", in.shape().to_string()}});
  const auto byte = [](float v) { return std::isnan(v) ? 0U : static_cast<uint32_t>(std::nearbyint(std::clamp(v, 0.0F, 1.0F) * 255.0F)); };
  Tensor out = Tensor::empty(Shape{in.dim(0), in.dim(1), in.dim(2)}, DType::f32);
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const float* pixel = in.data<float>() + i * in.dim(3);
    out.mutable_data<float>()[i] = (byte(pixel[0]) << 16 | byte(pixel[1]) << 8 | byte(pixel[2])) == rgb ? 1.0F : 0.0F;
  }
  return out;
}

}  // namespace veneer::sampling
