// For tests: pictures with known bytes, and Exif blocks put together by hand.
#pragma once

#include <string>

#include "formats/image_bytes.h"

namespace veneer::formats {

// A smooth pattern that differs in every channel and is not symmetric.
inline ImageBytes sample_image(uint32_t width, uint32_t height, int channels) {
  ImageBytes image = make_image(width, height, channels, "sample");
  size_t i = 0;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) image.pixels[i++] = static_cast<uint8_t>(20 + 3 * x + 5 * y + 40 * static_cast<uint32_t>(c));
    }
  }
  return image;
}

// A TIFF block whose directory holds another tag and then the orientation.
inline std::string exif_block(int orientation, bool big_endian) {
  const auto number = [big_endian](uint32_t value, int size) {
    std::string out;
    for (int i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * (big_endian ? size - 1 - i : i)));
    return out;
  };
  const std::string head = (big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) + number(2, 2);
  const std::string other = number(0x0100, 2) + number(4, 2) + number(1, 4) + number(6, 4);
  const std::string mine = number(0x0112, 2) + number(3, 2) + number(1, 4) + number(static_cast<uint32_t>(orientation), 2) + number(0, 2);
  return head + other + mine + number(0, 4);
}

}  // namespace veneer::formats
