#include "formats/exif_orientation.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace veneer::formats {
namespace {

constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShortType = 3;
constexpr size_t kEntryBytes = 12;

// Reads numbers of a TIFF block in its byte order; a read past the end gives 0, which no rule below accepts.
struct TiffReader {
  std::span<const std::byte> bytes;
  bool big_endian;

  uint32_t number(size_t offset, size_t size) const {
    if (offset > bytes.size() || size > bytes.size() - offset) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[offset + (big_endian ? i : size - 1 - i)]);
    return value;
  }
};

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (exif.size() >= kPrefix.size() && std::memcmp(exif.data(), kPrefix.data(), kPrefix.size()) == 0) exif = exif.subspan(kPrefix.size());
  if (exif.size() < 8) return 1;
  const bool big_endian = exif[0] == std::byte{'M'} && exif[1] == std::byte{'M'};
  const bool little_endian = exif[0] == std::byte{'I'} && exif[1] == std::byte{'I'};
  const TiffReader tiff{exif, big_endian};
  if ((!big_endian && !little_endian) || tiff.number(2, 2) != 42) return 1;
  const size_t directory = tiff.number(4, 4);
  const uint32_t count = tiff.number(directory, 2);
  for (uint32_t i = 0; i < count; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (tiff.number(entry, 2) != kOrientationTag || tiff.number(entry + 2, 2) != kShortType || tiff.number(entry + 4, 4) != 1) continue;
    const uint32_t value = tiff.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

ImageBytes apply_orientation(ImageBytes image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool swaps_axes = orientation >= 5;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  ImageBytes upright = image;
  if (swaps_axes) std::swap(upright.width, upright.height);
  const auto channels = static_cast<size_t>(image.channels);
  size_t target = 0;
  for (size_t y = 0; y < upright.height; ++y) {
    for (size_t x = 0; x < upright.width; ++x, target += channels) {
      size_t source_x = swaps_axes ? y : x;
      size_t source_y = swaps_axes ? x : y;
      if (from_right) source_x = image.width - 1 - source_x;
      if (from_bottom) source_y = image.height - 1 - source_y;
      std::memcpy(&upright.pixels[target], &image.pixels[(source_y * image.width + source_x) * channels], channels);
    }
  }
  return upright;
}

}  // namespace veneer::formats
