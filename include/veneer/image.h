// A picture in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace veneer {

// Interleaved 8-bit rows, top to bottom: pixel (x, y) starts at pixels[(y * width + x) * channels].
struct Image {
  int width = 0;
  int height = 0;
  int channels = 3;  // 3: RGB
  std::vector<uint8_t> pixels;
};

}  // namespace veneer
