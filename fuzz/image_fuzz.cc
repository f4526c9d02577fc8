// Any bytes give an Error or a picture whose bytes fit its size.
#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/image_file.h"
#include "veneer/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const veneer::formats::ImageBytes image = veneer::formats::decode_image(std::as_bytes(std::span(data, size)), "fuzz");
    if (image.pixels.size() != size_t{image.width} * image.height * static_cast<size_t>(image.channels)) __builtin_trap();
  } catch (const veneer::Error&) {
  }
  return 0;
}
