// A decoded picture of 8 bits per channel, and the bounds that every decoder keeps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer::formats {

// The longest side, and the most pixels, that any image may have: at most 1 GiB of decoded bytes.
inline constexpr uint64_t kMaxImageSide = 65'535;
inline constexpr uint64_t kMaxImagePixels = uint64_t{16'384} * 16'384;
inline constexpr uint64_t kMaxImageFileBytes = uint64_t{1} << 30;

// A value: row-major, top row first, channels interleaved, values as stored (sRGB by convention; embedded profiles are not applied).
struct ImageBytes {
  uint32_t width = 0;           // pixels
  uint32_t height = 0;          // pixels
  int channels = 3;             // 1 gray, 3 RGB, 4 RGBA (alpha not premultiplied)
  std::vector<uint8_t> pixels;  // [height, width, channels]
  // Text of the file in its order, as UTF-8: (key, value).
  std::vector<std::pair<std::string, std::string>> text;
  // Alpha comes from one colour that a file without an alpha channel declares transparent, not from a channel or a palette. Pillow ignores it
  // unless asked to convert to RGBA, and so do the nodes that follow it.
  bool alpha_from_key = false;

  // The value of the first text entry called `key`, or nullptr.
  const std::string* find_text(std::string_view key) const {
    for (const auto& entry : text) {
      if (entry.first == key) return &entry.second;
    }
    return nullptr;
  }
};

// An image of the size with all bytes zero. Checks the size first: throws Error(corrupt) naming `file` and the rule, Error(no_memory) when there is
// none. `channels` is 1, 3 or 4.
ImageBytes make_image(uint64_t width, uint64_t height, int channels, std::string_view file);

}  // namespace veneer::formats
