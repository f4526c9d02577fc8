#include "sampling/latent_ops.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "veneer/error.h"

namespace veneer::sampling {
namespace {

Latent with_samples(const Latent& latent, Tensor samples) {
  Latent out = latent;
  out.samples = std::move(samples);
  return out;
}

// `second` in the shape of `first`.
Tensor fitted(const Tensor& second, const Tensor& first) {
  Tensor out = second;
  if (out.dim(2) != first.dim(2) || out.dim(3) != first.dim(3))
    out = resample(out, first.dim(3), first.dim(2), ResampleMethod::bilinear, Crop::center);
  out = repeat_to_batch(out, first.dim(0));
  if (out.shape() != first.shape()) {
    throw Error(ErrorCode::invalid, "latent: channels differ", {{"first", first.shape().to_string()}, {"second", out.shape().to_string()}});
  }
  return out;
}

template <typename F>
Tensor combined(const Tensor& a, const Tensor& b, F f) {
  Tensor out = Tensor::empty(a.shape(), DType::f32);
  std::ranges::transform(a.floats(), b.floats(), out.mutable_data<float>(), f);
  return out;
}

// out(y, x) of a plane of `height` x `width` = in at source(y, x), an offset into the plane of in.
template <typename F>
Tensor moved(const Tensor& in, int64_t height, int64_t width, F source) {
  Tensor out = Tensor::empty(Shape{in.dim(0), in.dim(1), height, width}, DType::f32);
  const int64_t size = height * width;
  const float* from = in.data<float>();
  float* to = out.mutable_data<float>();
  for (int64_t p = 0; p < in.dim(0) * in.dim(1); ++p) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) to[p * size + y * width + x] = from[p * size + source(y, x)];
    }
  }
  return out;
}

// Zero where a division by a zero length leaves no number.
float unit(float value, float length) {
  const float out = value / length;
  return std::isnan(out) ? 0.0F : out;
}

}  // namespace

Latent resize_latent(const Latent& latent, int64_t width, int64_t height, ResampleMethod method, Crop crop) {
  return with_samples(latent, resample(latent.samples, width, height, method, crop));
}

Latent scale_latent(const Latent& latent, double factor, ResampleMethod method) {
  constexpr double kMaxFactor = 1 << 20;
  if (!(factor > 0) || factor > kMaxFactor)
    throw Error(ErrorCode::invalid, "latent: scale factor out of range", {{"factor", std::to_string(factor)}});
  const Tensor samples = require_f32(latent.samples, 4, "latent");
  const int64_t width = round_half_even(static_cast<double>(samples.dim(3)) * factor);
  const int64_t height = round_half_even(static_cast<double>(samples.dim(2)) * factor);
  return with_samples(latent, resample(samples, width, height, method, Crop::disabled));
}

Latent crop_latent(const Latent& latent, const Box& box) {
  constexpr int64_t kLeast = 8;
  const Tensor samples = require_f32(latent.samples, 4, "latent");
  if (box.x < 0 || box.y < 0 || box.width < 1 || box.height < 1) {
    throw Error(
        ErrorCode::invalid, "latent: crop box is empty or starts before the latent",
        {{"x", std::to_string(box.x)}, {"y", std::to_string(box.y)}, {"width", std::to_string(box.width)}, {"height", std::to_string(box.height)}});
  }
  Box inside;
  inside.x = std::min(box.x, std::max<int64_t>(samples.dim(3) - kLeast, 0));
  inside.y = std::min(box.y, std::max<int64_t>(samples.dim(2) - kLeast, 0));
  inside.width = std::min(box.width, samples.dim(3) - inside.x);
  inside.height = std::min(box.height, samples.dim(2) - inside.y);
  return with_samples(latent, crop_planes(samples, inside));
}

Latent rotate_latent(const Latent& latent, int quarter_turns) {
  const Tensor in = require_f32(latent.samples, 4, "latent");
  const int64_t h = in.dim(2);
  const int64_t w = in.dim(3);
  switch (quarter_turns) {
    case 0: return with_samples(latent, in);
    case 1: return with_samples(latent, moved(in, w, h, [=](int64_t y, int64_t x) { return (h - 1 - x) * w + y; }));
    case 2: return with_samples(latent, moved(in, h, w, [=](int64_t y, int64_t x) { return (h - 1 - y) * w + (w - 1 - x); }));
    case 3: return with_samples(latent, moved(in, w, h, [=](int64_t y, int64_t x) { return x * w + (w - 1 - y); }));
    default: throw Error(ErrorCode::invalid, "latent: rotation is 0 to 3 quarter turns", {{"quarter_turns", std::to_string(quarter_turns)}});
  }
}

Latent flip_latent(const Latent& latent, FlipAxis axis) {
  const Tensor in = require_f32(latent.samples, 4, "latent");
  const int64_t h = in.dim(2);
  const int64_t w = in.dim(3);
  if (axis == FlipAxis::x) return with_samples(latent, moved(in, h, w, [=](int64_t y, int64_t x) { return (h - 1 - y) * w + x; }));
  return with_samples(latent, moved(in, h, w, [=](int64_t y, int64_t x) { return y * w + (w - 1 - x); }));
}

Latent blend_latents(const Latent& first, const Latent& second, float factor) {
  const Tensor a = require_f32(first.samples, 4, "latent");
  Tensor b = require_f32(second.samples, 4, "latent");
  if (a.shape() != b.shape()) b = resample(b, a.dim(3), a.dim(2), ResampleMethod::bicubic, Crop::center);
  b = fitted(b, a);
  return with_samples(first, combined(a, b, [factor](float x, float y) { return x * factor + y * (1 - factor); }));
}

Latent add_latents(const Latent& first, const Latent& second) {
  const Tensor a = require_f32(first.samples, 4, "latent");
  return with_samples(first, combined(a, fitted(require_f32(second.samples, 4, "latent"), a), std::plus<float>()));
}

Latent subtract_latents(const Latent& first, const Latent& second) {
  const Tensor a = require_f32(first.samples, 4, "latent");
  return with_samples(first, combined(a, fitted(require_f32(second.samples, 4, "latent"), a), std::minus<float>()));
}

Latent multiply_latent(const Latent& latent, float factor) {
  const Tensor a = require_f32(latent.samples, 4, "latent");
  return with_samples(latent, combined(a, a, [factor](float x, float) { return x * factor; }));
}

Latent interpolate_latents(const Latent& first, const Latent& second, float ratio) {
  const Tensor a = require_f32(first.samples, 4, "latent");
  const Tensor b = fitted(require_f32(second.samples, 4, "latent"), a);
  const int64_t channels = a.dim(1);
  const int64_t size = a.dim(2) * a.dim(3);
  Tensor out = Tensor::empty(a.shape(), DType::f32);
  for (int64_t i = 0; i < a.dim(0) * size; ++i) {
    const int64_t start = i / size * channels * size + i % size;
    const auto length_of = [&](auto value) {
      float sum = 0;
      for (int64_t c = 0; c < channels; ++c) sum += value(start + c * size) * value(start + c * size);
      return std::sqrt(sum);
    };
    const float length_a = length_of([&](int64_t k) { return a.data<float>()[k]; });
    const float length_b = length_of([&](int64_t k) { return b.data<float>()[k]; });
    const auto mixed = [&](int64_t k) { return unit(a.data<float>()[k], length_a) * ratio + unit(b.data<float>()[k], length_b) * (1 - ratio); };
    const float length = length_of(mixed);
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t k = start + c * size;
      out.mutable_data<float>()[k] = unit(mixed(k), length) * (length_a * ratio + length_b * (1 - ratio));
    }
  }
  return with_samples(first, std::move(out));
}

}  // namespace veneer::sampling
