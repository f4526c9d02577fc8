#include "models/vae/inpaint.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "veneer/error.h"

namespace veneer::models {
namespace {

// Where a sample of a stretched axis lies: between two elements. Pixel centres are aligned, not corners.
struct Tap {
  int64_t low = 0, high = 0;
  float low_weight = 1, high_weight = 0;
};

std::vector<Tap> taps(int64_t from, int64_t to) {
  std::vector<Tap> out(static_cast<size_t>(to));
  const float ratio = static_cast<float>(from) / static_cast<float>(to);
  for (int64_t i = 0; i < to; ++i) {
    const float position = std::max(0.0F, ratio * (static_cast<float>(i) + 0.5F) - 0.5F);
    Tap& tap = out[static_cast<size_t>(i)];
    tap.low = std::min(static_cast<int64_t>(position), from - 1);
    tap.high = std::min(tap.low + 1, from - 1);
    tap.high_weight = std::clamp(position - static_cast<float>(tap.low), 0.0F, 1.0F);
    tap.low_weight = 1.0F - tap.high_weight;
  }
  return out;
}

// [M, h, w] -> [M, height, width, 1].
Tensor stretch(const Tensor& mask, int64_t height, int64_t width) {
  if (mask.dim(1) == height && mask.dim(2) == width) return mask.reshape(Shape({mask.dim(0), height, width, 1}));
  const std::vector<Tap> rows = taps(mask.dim(1), height);
  const std::vector<Tap> columns = taps(mask.dim(2), width);
  Tensor out = Tensor::empty(Shape({mask.dim(0), height, width, 1}), DType::f32);
  float* to = out.mutable_data<float>();
  for (int64_t m = 0; m < mask.dim(0); ++m) {
    const float* plane = mask.data<float>() + m * mask.dim(1) * mask.dim(2);
    for (const Tap& row : rows) {
      const float* low = plane + row.low * mask.dim(2);
      const float* high = plane + row.high * mask.dim(2);
      for (const Tap& column : columns) {
        const float upper = column.low_weight * low[column.low] + column.high_weight * low[column.high];
        const float lower = column.low_weight * high[column.low] + column.high_weight * high[column.high];
        *to++ = row.low_weight * upper + row.high_weight * lower;
      }
    }
  }
  return out;
}

// Per line of `length` elements `stride` apart: out[i] = max of in[i - before .. i + after], in place. Values are 0 or 1.
void grow_line(float* line, int64_t length, int64_t stride, int64_t before, int64_t after, std::vector<int32_t>& counts) {
  counts.assign(static_cast<size_t>(length) + 1, 0);
  for (int64_t i = 0; i < length; ++i) counts[static_cast<size_t>(i) + 1] = counts[static_cast<size_t>(i)] + (line[i * stride] > 0 ? 1 : 0);
  for (int64_t i = 0; i < length; ++i) {
    const int64_t begin = std::max<int64_t>(0, i - before);
    const int64_t end = std::min(length, i + after + 1);
    const bool hit = begin < end && counts[static_cast<size_t>(end)] > counts[static_cast<size_t>(begin)];
    line[i * stride] = hit ? 1.0F : 0.0F;
  }
}

// Convolution with a square of ones, clamped to 1: the maximum over the square, which a row and a column pass find.
void grow_mask(Tensor& mask, int grow) {
  const int64_t height = mask.dim(2);
  const int64_t width = mask.dim(3);
  const int64_t before = grow / 2;  // ceil((grow - 1) / 2)
  const int64_t after = grow - 1 - before;
  std::vector<int32_t> counts;
  for (int64_t m = 0; m < mask.dim(0); ++m) {
    float* plane = mask.mutable_data<float>() + m * height * width;
    for (int64_t y = 0; y < height; ++y) grow_line(plane + y * width, width, 1, before, after, counts);
    for (int64_t x = 0; x < width; ++x) grow_line(plane + x, height, width, before, after, counts);
  }
}

void check_mask(const Tensor& mask, int64_t batch, int grow) {
  const bool fits =
      mask.defined() && mask.dtype() == DType::f32 && mask.rank() == 3 && mask.num_elements() > 0 && (mask.dim(0) == 1 || mask.dim(0) == batch);
  if (!fits) {
    throw Error(ErrorCode::invalid, "vae: an inpainting mask is [M, h, w] of f32, M 1 or the batch of the picture",
                {{"batch", std::to_string(batch)}, {"got", mask.defined() ? mask.shape().to_string() : "nothing"}});
  }
  constexpr int kMostGrow = 4096;
  if (grow < 0 || grow > kMostGrow) throw Error(ErrorCode::invalid, "vae: a mask cannot grow by that", {{"grow", std::to_string(grow)}});
}

}  // namespace

InpaintLatent encode_for_inpaint(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& pixels, const Tensor& mask,
                                 int grow, const VaeCallExtras& extras) {
  vae.check_image(pixels);
  const Tensor planes = mask.defined() && mask.rank() == 2 ? mask.reshape(Shape({1, mask.dim(0), mask.dim(1)})) : mask;
  check_mask(planes, pixels.dim(0), grow);
  const int64_t multiple = vae.config().downscale();
  Tensor image = crop_to_multiple(pixels, multiple).clone();
  const Tensor stretched = crop_to_multiple(stretch(planes, pixels.dim(1), pixels.dim(2)), multiple);
  const int64_t height = image.dim(1);
  const int64_t width = image.dim(2);
  Tensor rounded = Tensor::empty(Shape({planes.dim(0), 1, height, width}), DType::f32);
  std::transform(stretched.floats().begin(), stretched.floats().end(), rounded.mutable_data<float>(), [](float v) { return std::nearbyint(v); });

  const int64_t channels = image.dim(3);
  for (int64_t b = 0; b < image.dim(0); ++b) {
    const float* keep = rounded.data<float>() + (rounded.dim(0) == 1 ? 0 : b) * height * width;
    float* pixel = image.mutable_data<float>() + b * height * width * channels;
    for (int64_t i = 0; i < height * width; ++i) {
      for (int64_t c = 0; c < std::min<int64_t>(channels, 3); ++c)
        pixel[i * channels + c] = (pixel[i * channels + c] - 0.5F) * (1.0F - keep[i]) + 0.5F;
    }
  }
  InpaintLatent out;
  out.samples = vae.encode(view, context, image, extras);
  if (grow > 0) grow_mask(rounded, grow);
  out.noise_mask = std::move(rounded);
  return out;
}

}  // namespace veneer::models
