#include "sampling/image_ops.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sampling/composite.h"
#include "sampling/nchw.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

Tensor require_image(const Tensor& image) {
  Tensor in = require_f32(image, 4, "image");
  if (in.num_elements() == 0) throw Error(ErrorCode::invalid, "image: picture is empty", {{"shape", in.shape().to_string()}});
  return in;
}

double ratio_of(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }

// RGB with an alpha of 1.
Tensor with_alpha(const Tensor& image) {
  const int64_t channels = image.dim(3);
  Tensor out = Tensor::empty(image.shape().with(3, channels + 1), DType::f32);
  for (int64_t i = 0; i < image.num_elements() / channels; ++i) {
    float* pixel = out.mutable_data<float>() + i * (channels + 1);
    std::copy_n(image.data<float>() + i * channels, channels, pixel);
    pixel[channels] = 1.0F;
  }
  return out;
}

// planes: [N, C, H, W] -> [N, count, H, W]
Tensor first_channels(const Tensor& planes, int64_t count) {
  Tensor out = Tensor::empty(planes.shape().with(1, count), DType::f32);
  const int64_t size = out.shape().num_elements_from(1);
  for (int64_t n = 0; n < planes.dim(0); ++n) {
    std::copy_n(planes.data<float>() + n * planes.shape().num_elements_from(1), size, out.mutable_data<float>() + n * size);
  }
  return out;
}

struct Pair {
  Tensor first, second;
};
Pair with_equal_alpha(const Tensor& first, const Tensor& second) {
  Pair out{require_image(first), require_image(second)};
  if (out.first.dim(3) == out.second.dim(3) + 1) out.second = with_alpha(out.second);
  if (out.second.dim(3) == out.first.dim(3) + 1) out.first = with_alpha(out.first);
  return out;
}

}  // namespace

Tensor scale_image(const Tensor& image, int64_t width, int64_t height, ResampleMethod method, Crop crop) {
  const Tensor in = require_image(image);
  if (width < 0 || height < 0) {
    throw Error(ErrorCode::invalid, "image: size is negative", {{"width", std::to_string(width)}, {"height", std::to_string(height)}});
  }
  if (width == 0 && height == 0) return in.clone();
  if (width == 0) {
    width = std::max<int64_t>(1, round_half_even(static_cast<double>(in.dim(2)) * static_cast<double>(height) / static_cast<double>(in.dim(1))));
  } else if (height == 0) {
    height = std::max<int64_t>(1, round_half_even(static_cast<double>(in.dim(1)) * static_cast<double>(width) / static_cast<double>(in.dim(2))));
  }
  return to_pixels(resample(to_planes(in), width, height, method, crop));
}

Tensor scale_image_by(const Tensor& image, double factor, ResampleMethod method) {
  constexpr double kMaxFactor = 1 << 20;
  const Tensor in = require_image(image);
  if (!(factor > 0) || factor > kMaxFactor) throw Error(ErrorCode::invalid, "image: scale factor out of range", {{"factor", std::to_string(factor)}});
  const int64_t width = round_half_even(static_cast<double>(in.dim(2)) * factor);
  const int64_t height = round_half_even(static_cast<double>(in.dim(1)) * factor);
  return to_pixels(resample(to_planes(in), width, height, method));
}

Tensor scale_image_to_total_pixels(const Tensor& image, double megapixels, ResampleMethod method) {
  const Tensor in = require_image(image);
  if (!(megapixels > 0)) throw Error(ErrorCode::invalid, "image: megapixels out of range", {{"megapixels", std::to_string(megapixels)}});
  return scale_image_by(in, std::sqrt(megapixels * 1024 * 1024 / static_cast<double>(in.dim(1) * in.dim(2))), method);
}

Tensor solid_image(int64_t width, int64_t height, int64_t batch, uint32_t rgb) {
  if (width < 1 || height < 1 || batch < 1) {
    throw Error(ErrorCode::invalid, "image: size out of range",
                {{"width", std::to_string(width)}, {"height", std::to_string(height)}, {"batch", std::to_string(batch)}});
  }
  Tensor out = Tensor::empty(Shape{batch, height, width, 3}, DType::f32);
  const float colour[3] = {static_cast<float>(rgb >> 16 & 255) / 255.0F, static_cast<float>(rgb >> 8 & 255) / 255.0F,
                           static_cast<float>(rgb & 255) / 255.0F};
  for (int64_t i = 0; i < out.num_elements(); i += 3) std::copy_n(colour, 3, out.mutable_data<float>() + i);
  return out;
}

Tensor invert_image(const Tensor& image) {
  const Tensor in = require_image(image);
  Tensor out = Tensor::empty(in.shape(), DType::f32);
  std::ranges::transform(in.floats(), out.mutable_data<float>(), [](float v) { return 1.0F - v; });
  return out;
}

Tensor batch_images(const Tensor& first, const Tensor& second) {
  Pair pair = with_equal_alpha(first, second);
  if (pair.first.dim(1) != pair.second.dim(1) || pair.first.dim(2) != pair.second.dim(2)) {
    pair.second = scale_image(pair.second, pair.first.dim(2), pair.first.dim(1), ResampleMethod::bilinear, Crop::center);
  }
  return concat_batch(pair.first, pair.second);
}

Tensor crop_image(const Tensor& image, const Box& box) {
  const Tensor in = require_image(image);
  if (box.x < 0 || box.y < 0 || box.width < 1 || box.height < 1) {
    throw Error(
        ErrorCode::invalid, "image: crop box is empty or starts before the picture",
        {{"x", std::to_string(box.x)}, {"y", std::to_string(box.y)}, {"width", std::to_string(box.width)}, {"height", std::to_string(box.height)}});
  }
  Box inside;
  inside.x = std::min(box.x, in.dim(2) - 1);
  inside.y = std::min(box.y, in.dim(1) - 1);
  inside.width = std::min(box.width, in.dim(2) - inside.x);
  inside.height = std::min(box.height, in.dim(1) - inside.y);
  return to_pixels(crop_planes(to_planes(in), inside));
}

Tensor composite_images(const Tensor& destination, const Tensor& source, const Tensor& mask, const ImagePlacement& placement) {
  // The destination decides about alpha.
  Pair pair{to_planes(require_image(destination)), to_planes(require_image(source))};
  const int64_t channels = pair.first.dim(1);
  if (pair.second.dim(1) + 1 == channels) pair.second = to_planes(with_alpha(to_pixels(pair.second)));
  if (pair.second.dim(1) > channels) pair.second = first_channels(pair.second, channels);
  const MaskedComposite options{.x = placement.x, .y = placement.y, .resize_source = placement.resize_source};
  return to_pixels(composite_masked(pair.first, pair.second, mask, options));
}

PaddedImage pad_for_outpaint(const Tensor& image, const Feather& border, int64_t feathering) {
  const Tensor in = require_image(image);
  constexpr int64_t kMaxBorder = int64_t{1} << 20;
  for (const int64_t side : {border.left, border.top, border.right, border.bottom}) {
    if (side < 0 || side > kMaxBorder) throw Error(ErrorCode::invalid, "image: border out of range", {{"pixels", std::to_string(side)}});
  }
  const int64_t h = in.dim(1);
  const int64_t w = in.dim(2);
  const int64_t channels = in.dim(3);
  const int64_t width = w + border.left + border.right;
  PaddedImage out{Tensor::empty(Shape{in.dim(0), h + border.top + border.bottom, width, channels}, DType::f32), {}};
  out.mask = solid_mask(1.0F, width, out.image.dim(1));
  std::ranges::fill(out.image.mutable_floats(), 0.5F);
  for (int64_t row = 0; row < in.dim(0) * h; ++row) {
    const int64_t target = row / h * out.image.dim(1) + border.top + row % h;
    std::copy_n(in.data<float>() + row * w * channels, w * channels, out.image.mutable_data<float>() + (target * width + border.left) * channels);
  }
  const bool soft = feathering > 0 && feathering < (h + 1) / 2 && feathering < (w + 1) / 2;
  for (int64_t y = 0; y < h; ++y) {
    for (int64_t x = 0; x < w; ++x) {
      const int64_t distance =
          std::min({border.top != 0 ? y : h, border.bottom != 0 ? h - y : h, border.left != 0 ? x : w, border.right != 0 ? w - x : w});
      const double v = soft && distance < feathering ? ratio_of(feathering - distance, feathering) : 0.0;
      out.mask.mutable_data<float>()[(border.top + y) * width + border.left + x] = static_cast<float>(v * v);
    }
  }
  return out;
}

}  // namespace veneer::sampling
