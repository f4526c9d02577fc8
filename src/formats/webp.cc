#include "formats/webp.h"

#include <webp/decode.h>

#include <cstring>

#include "formats/exif_orientation.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

constexpr size_t kRiffHeaderBytes = 12;  // "RIFF", size, "WEBP"
constexpr size_t kChunkHeaderBytes = 8;  // name, size

bool has_name(std::span<const std::byte> bytes, const char (&name)[5]) { return bytes.size() >= 4 && std::memcmp(bytes.data(), name, 4) == 0; }

// Walks the RIFF chunks to the one called EXIF. Every chunk has an even size on disk.
int stored_orientation(std::span<const std::byte> bytes) {
  bytes = bytes.subspan(kRiffHeaderBytes);
  while (bytes.size() > kChunkHeaderBytes) {
    size_t size = 0;
    for (size_t i = 0; i < 4; ++i) size |= std::to_integer<size_t>(bytes[4 + i]) << (8 * i);
    const std::span<const std::byte> body = bytes.subspan(kChunkHeaderBytes);
    if (size > body.size()) return 1;
    if (has_name(bytes, "EXIF")) return exif_orientation(body.first(size));
    const size_t stored = size + size % 2;
    if (stored > body.size()) return 1;
    bytes = body.subspan(stored);
  }
  return 1;
}

}  // namespace

bool is_webp(std::span<const std::byte> bytes) {
  return bytes.size() >= kRiffHeaderBytes && has_name(bytes, "RIFF") && has_name(bytes.subspan(8), "WEBP");
}

ImageBytes decode_webp(std::span<const std::byte> bytes, std::string_view file) {
  const Error broken(ErrorCode::corrupt, "webp: broken or cut short", {{"file", std::string(file)}});
  if (!is_webp(bytes)) throw broken;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK) throw broken;
  if (features.has_animation != 0) throw Error(ErrorCode::unsupported, "webp: animations are not supported", {{"file", std::string(file)}});
  if (features.width <= 0 || features.height <= 0) throw broken;
  ImageBytes image = make_image(static_cast<uint64_t>(features.width), static_cast<uint64_t>(features.height), features.has_alpha != 0 ? 4 : 3, file);
  const int stride = static_cast<int>(image.width) * image.channels;
  const auto decode = image.channels == 4 ? WebPDecodeRGBAInto : WebPDecodeRGBInto;
  if (decode(data, bytes.size(), image.pixels.data(), image.pixels.size(), stride) == nullptr) throw broken;
  return apply_orientation(std::move(image), stored_orientation(bytes));
}

}  // namespace veneer::formats
