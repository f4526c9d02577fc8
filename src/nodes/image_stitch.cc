#include "nodes/image_stitch.h"

#include <algorithm>
#include <array>

#include "sampling/image_ops.h"
#include "sampling/nchw.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

// RGB 0..1 and a full alpha.
std::array<float, 4> color_of(const std::string& name) {
  if (name == "black") return {0, 0, 0, 1};
  if (name == "red") return {1, 0, 0, 1};
  if (name == "green") return {0, 1, 0, 1};
  if (name == "blue") return {0, 0, 1, 1};
  return {1, 1, 1, 1};
}

// Row n of the result comes from row min(n, last) of the picture.
void paste(Tensor& canvas, const Tensor& image, int64_t y, int64_t x) {
  const int64_t channels = canvas.dim(3);
  for (int64_t n = 0; n < canvas.dim(0); ++n) {
    const float* source = image.data<float>() + std::min(n, image.dim(0) - 1) * image.shape().num_elements_from(1);
    for (int64_t row = 0; row < image.dim(1); ++row) {
      float* target = canvas.mutable_data<float>() + (((n * canvas.dim(1) + y + row) * canvas.dim(2)) + x) * channels;
      for (int64_t column = 0; column < image.dim(2); ++column) {
        for (int64_t c = 0; c < channels; ++c) {
          // A picture without alpha is opaque.
          target[column * channels + c] = c < image.dim(3) ? source[(row * image.dim(2) + column) * image.dim(3) + c] : 1.0F;
        }
      }
    }
  }
}

// A rectangle of all pictures of the canvas in one colour.
void fill(Tensor& canvas, const sampling::Box& box, const std::array<float, 4>& color) {
  const int64_t channels = canvas.dim(3);
  for (int64_t n = 0; n < canvas.dim(0); ++n) {
    for (int64_t y = box.y; y < box.y + box.height; ++y) {
      for (int64_t x = box.x; x < box.x + box.width; ++x) {
        float* pixel = canvas.mutable_data<float>() + ((n * canvas.dim(1) + y) * canvas.dim(2) + x) * channels;
        for (int64_t c = 0; c < channels; ++c) pixel[c] = color[static_cast<size_t>(c)];
      }
    }
  }
}

Tensor match(const Tensor& first, const Tensor& second, bool horizontal) {
  const auto ratio = static_cast<double>(second.dim(2)) / static_cast<double>(second.dim(1));
  if (horizontal) {
    const auto width = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(first.dim(1)) * ratio));
    return sampling::scale_image(second, width, first.dim(1), sampling::ResampleMethod::lanczos, sampling::Crop::disabled);
  }
  const auto height = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(first.dim(2)) / ratio));
  return sampling::scale_image(second, first.dim(2), height, sampling::ResampleMethod::lanczos, sampling::Crop::disabled);
}

}  // namespace

Tensor stitch_images(const Tensor& first, const Tensor& second, const StitchOptions& options) {
  const Tensor a = sampling::require_f32(first, 4, "stitch: image1");
  Tensor b = sampling::require_f32(second, 4, "stitch: image2");
  if (std::max(a.dim(3), b.dim(3)) > 4) throw Error(ErrorCode::invalid, "stitch: pictures have 1 to 4 channels", {{"got", b.shape().to_string()}});
  const bool horizontal = options.direction == "right" || options.direction == "left";
  const bool second_first = options.direction == "left" || options.direction == "up";
  if (options.match_size) b = match(a, b, horizontal);

  const int64_t spacing = options.spacing + options.spacing % 2;
  const int64_t width = horizontal ? a.dim(2) + spacing + b.dim(2) : std::max(a.dim(2), b.dim(2));
  const int64_t height = horizontal ? std::max(a.dim(1), b.dim(1)) : a.dim(1) + spacing + b.dim(1);
  Tensor canvas = Tensor::zeros({std::max(a.dim(0), b.dim(0)), height, width, std::max(a.dim(3), b.dim(3))}, DType::f32);

  const Tensor& head = second_first ? b : a;
  const Tensor& tail = second_first ? a : b;
  if (horizontal) {
    paste(canvas, head, (height - head.dim(1)) / 2, 0);
    fill(canvas, {.y = 0, .x = head.dim(2), .height = height, .width = spacing}, color_of(options.spacing_color));
    paste(canvas, tail, (height - tail.dim(1)) / 2, head.dim(2) + spacing);
  } else {
    paste(canvas, head, 0, (width - head.dim(2)) / 2);
    fill(canvas, {.y = head.dim(1), .x = 0, .height = spacing, .width = width}, color_of(options.spacing_color));
    paste(canvas, tail, head.dim(1) + spacing, (width - tail.dim(2)) / 2);
  }
  return canvas;
}

}  // namespace veneer::nodes
