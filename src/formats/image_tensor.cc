#include "formats/image_tensor.h"

#include <array>

#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr int64_t kNoMaskSide = 64;
constexpr std::array<std::string_view, 4> kChannelNames = {"red", "green", "blue", "alpha"};

Shape mask_shape(const ImageBytes& image) { return {1, image.height, image.width}; }

// Comparisons with NaN are false, so it falls through to 0.
uint8_t to_byte(float value) {
  const float scaled = 255.0f * value;
  if (scaled >= 255.0f) return 255;
  return scaled > 0.0f ? static_cast<uint8_t>(scaled) : uint8_t{0};
}

}  // namespace

Tensor image_tensor(const ImageBytes& image) {
  Tensor tensor = Tensor::empty({1, image.height, image.width, 3}, DType::f32);
  const std::span<float> out = tensor.mutable_floats();
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t pixel = i / 3 * channels;
    out[i] = static_cast<float>(image.pixels[channels == 1 ? pixel : pixel + i % 3]) / 255.0f;
  }
  return tensor;
}

Tensor alpha_mask_tensor(const ImageBytes& image) {
  if (image.channels != 4 || image.alpha_from_key) return Tensor::zeros({1, kNoMaskSide, kNoMaskSide}, DType::f32);
  return channel_mask_tensor(image, ImageChannel::alpha);
}

Tensor channel_mask_tensor(const ImageBytes& image, ImageChannel channel) {
  const bool alpha = channel == ImageChannel::alpha;
  if (alpha && image.channels != 4) return Tensor::zeros(mask_shape(image), DType::f32);
  Tensor tensor = Tensor::empty(mask_shape(image), DType::f32);
  const std::span<float> out = tensor.mutable_floats();
  const auto channels = static_cast<size_t>(image.channels);
  const size_t offset = channels == 1 ? 0 : static_cast<size_t>(channel);
  for (size_t i = 0; i < out.size(); ++i) {
    const float value = static_cast<float>(image.pixels[i * channels + offset]) / 255.0f;
    out[i] = alpha ? 1.0f - value : value;
  }
  return tensor;
}

ImageChannel image_channel_from_string(std::string_view name) {
  for (size_t i = 0; i < kChannelNames.size(); ++i) {
    if (kChannelNames[i] == name) return static_cast<ImageChannel>(i);
  }
  throw Error(ErrorCode::invalid, "unknown image channel", {{"channel", std::string(name)}, {"allowed", "red green blue alpha"}});
}

ImageBytes image_bytes(const Tensor& images, int64_t index) {
  const Shape& shape = images.shape();
  const bool fits = images.defined() && shape.rank() == 4 && (shape[3] == 1 || shape[3] == 3 || shape[3] == 4) && images.dtype() == DType::f32 &&
                    images.aligned() && index >= 0 && index < shape[0];
  if (!fits) {
    throw Error(ErrorCode::invalid, "image: not a row of an IMAGE",
                {{"shape", shape.to_string()}, {"dtype", std::string(to_string(images.dtype()))}, {"index", std::to_string(index)}});
  }
  ImageBytes image;
  try {
    image = make_image(static_cast<uint64_t>(shape[2]), static_cast<uint64_t>(shape[1]), static_cast<int>(shape[3]), "(tensor)");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    throw Error(ErrorCode::invalid, error.text(), {{"shape", shape.to_string()}});
  }
  const float* row = images.data<float>() + static_cast<size_t>(index) * image.pixels.size();
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = to_byte(row[i]);
  return image;
}

}  // namespace veneer::formats
