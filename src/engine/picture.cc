#include "engine/picture.h"

#include <algorithm>
#include <cmath>

#include "formats/image_file.h"
#include "formats/jpeg_encode.h"
#include "formats/png.h"
#include "formats/webp_encode.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using formats::ImageBytes;

std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// Bilinear between pixel centres; quick and good enough to look at.
ImageBytes scaled(const ImageBytes& in, int max_side) {
  const uint32_t longer = std::max(in.width, in.height);
  const double factor = static_cast<double>(max_side) / longer;
  const auto side = [&](uint32_t length) { return static_cast<uint32_t>(std::max(1L, std::lround(length * factor))); };
  ImageBytes out = formats::make_image(side(in.width), side(in.height), in.channels, "preview");
  const auto channels = static_cast<size_t>(in.channels);
  struct Tap {
    size_t low, high;
    int weight;  // of `high`, of 256
  };
  const auto taps = [](uint32_t from, uint32_t to) {
    std::vector<Tap> all;
    for (uint32_t i = 0; i < to; ++i) {
      const double at = std::clamp((i + 0.5) * from / to - 0.5, 0.0, from - 1.0);
      const auto low = static_cast<size_t>(at);
      all.push_back({low, std::min<size_t>(low + 1, from - 1), static_cast<int>((at - std::floor(at)) * 256)});
    }
    return all;
  };
  const std::vector<Tap> columns = taps(in.width, out.width);
  size_t at = 0;
  for (const Tap& row : taps(in.height, out.height)) {
    for (const Tap& column : columns) {
      for (size_t c = 0; c < channels; ++c) {
        const auto pixel = [&](size_t y, size_t x) { return int{in.pixels[(y * in.width + x) * channels + c]}; };
        const int top = pixel(row.low, column.low) * (256 - column.weight) + pixel(row.low, column.high) * column.weight;
        const int bottom = pixel(row.high, column.low) * (256 - column.weight) + pixel(row.high, column.high) * column.weight;
        out.pixels[at++] = static_cast<uint8_t>((top * (256 - row.weight) + bottom * row.weight + 32768) >> 16);
      }
    }
  }
  return out;
}

ImageBytes preview_pixels(const Tensor& rgb) {
  if (rgb.rank() != 3 || rgb.dim(2) != 3) throw Error(ErrorCode::invalid, "preview: not a picture", {{"want", "[H, W, 3]"}});
  ImageBytes image = formats::make_image(static_cast<uint64_t>(rgb.dim(1)), static_cast<uint64_t>(rgb.dim(0)), 3, "preview");
  if (rgb.dtype() == DType::u8) {
    std::copy_n(rgb.data<uint8_t>(), image.pixels.size(), image.pixels.begin());
  } else {
    const auto values = rgb.floats();
    std::transform(values.begin(), values.end(), image.pixels.begin(),
                   [](float v) { return std::isfinite(v) ? static_cast<uint8_t>(std::clamp(v, 0.0F, 1.0F) * 255.0F) : uint8_t{0}; });
  }
  return image;
}

ImageBytes to_rgba(const ImageBytes& in) {
  ImageBytes out = formats::make_image(in.width, in.height, 4, "picture");
  const auto channels = static_cast<size_t>(in.channels);
  for (size_t i = 0; i * channels < in.pixels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) out.pixels[i * 4 + c] = in.pixels[i * channels + (channels == 1 ? 0 : c)];
    out.pixels[i * 4 + 3] = channels == 4 ? in.pixels[i * 4 + 3] : uint8_t{255};
  }
  out.text = in.text;
  return out;
}

ImageBytes to_rgb(const ImageBytes& in) {
  ImageBytes out = formats::make_image(in.width, in.height, 3, "picture");
  const auto channels = static_cast<size_t>(in.channels);
  for (size_t i = 0; i * channels < in.pixels.size(); ++i) {
    for (size_t c = 0; c < 3; ++c) out.pixels[i * 3 + c] = in.pixels[i * channels + (channels == 1 ? 0 : c)];
  }
  return out;
}

std::string convert(ImageBytes image, const PictureRequest& request) {
  image.text.clear();
  if (request.alpha_only) {
    image = to_rgba(image);
    for (size_t i = 0; i < image.pixels.size(); i += 4) std::fill_n(&image.pixels[i], 3, uint8_t{0});
  } else if (request.drop_alpha && image.channels != 3) {
    image = to_rgb(image);
  }
  switch (request.form) {
    case PictureForm::jpeg: return text_of(formats::encode_jpeg(image, std::max(1, request.quality)));
    case PictureForm::webp: return text_of(formats::encode_webp(image, request.quality));
    case PictureForm::png: break;
  }
  return text_of(formats::encode_png(image));
}

}  // namespace

std::string encode_preview(const graph::Preview& preview, int max_side) {
  ImageBytes image = preview_pixels(preview.rgb);
  if (max_side > 0) image = scaled(image, max_side);
  constexpr int kQuality = 95;
  constexpr formats::PngOptions kFast = {.compress_level = 1};
  return text_of(preview.format == "PNG" ? formats::encode_png(image, kFast) : formats::encode_jpeg(image, kQuality));
}

std::string convert_picture(const std::filesystem::path& file, const PictureRequest& request) { return convert(formats::read_image(file), request); }

std::string convert_picture(std::span<const std::byte> bytes, const PictureRequest& request) {
  return convert(formats::decode_image(bytes, "picture"), request);
}

std::string with_mask(const std::filesystem::path& original, std::span<const std::byte> mask) {
  ImageBytes image = to_rgba(formats::read_image(original));
  const ImageBytes alpha = to_rgba(formats::decode_image(mask, "mask"));
  if (alpha.width != image.width || alpha.height != image.height) {
    const auto size = [](const ImageBytes& of) { return std::to_string(of.width) + "x" + std::to_string(of.height); };
    throw Error(ErrorCode::invalid, "the mask's size is not the picture's", {{"mask", size(alpha)}, {"picture", size(image)}});
  }
  for (size_t i = 3; i < image.pixels.size(); i += 4) image.pixels[i] = alpha.pixels[i];
  return text_of(formats::encode_png(image));
}

std::vector<std::pair<std::string, std::string>> text_entries(std::span<const std::byte> bytes) {
  return formats::decode_image(bytes, "picture").text;
}

}  // namespace veneer::engine
