#include "formats/webp_encode.h"

#include <webp/encode.h>

#include <memory>

#include "veneer/error.h"

namespace veneer::formats {

std::vector<std::byte> encode_webp(const ImageBytes& image, int quality) {
  if (quality < 0 || quality > 100) throw Error(ErrorCode::invalid, "webp: quality is from 0 to 100", {{"quality", std::to_string(quality)}});
  if (image.width < 1 || image.height < 1 || image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION) {
    throw Error(ErrorCode::invalid, "webp: a side is out of range", {{"max", std::to_string(WEBP_MAX_DIMENSION)}});
  }
  std::vector<uint8_t> colours;
  if (image.channels == 1) {
    colours.reserve(image.pixels.size() * 3);
    for (const uint8_t level : image.pixels) colours.insert(colours.end(), 3, level);
  }
  const uint8_t* pixels = colours.empty() ? image.pixels.data() : colours.data();
  const int width = static_cast<int>(image.width);
  const int height = static_cast<int>(image.height);
  uint8_t* data = nullptr;
  const auto level = static_cast<float>(quality);
  const size_t size = image.channels == 4 ? WebPEncodeRGBA(pixels, width, height, width * 4, level, &data)
                                          : WebPEncodeRGB(pixels, width, height, width * 3, level, &data);
  const std::unique_ptr<uint8_t, decltype(&WebPFree)> owner(data, &WebPFree);
  if (size == 0) throw Error(ErrorCode::no_memory, "webp: encoding failed");
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  return {bytes, bytes + size};
}

}  // namespace veneer::formats
