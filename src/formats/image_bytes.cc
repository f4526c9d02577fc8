#include "formats/image_bytes.h"

#include <new>

#include "base/checked.h"
#include "veneer/error.h"

namespace veneer::formats {

ImageBytes make_image(uint64_t width, uint64_t height, int channels, std::string_view file) {
  const Error::Context size = {{"file", std::string(file)}, {"width", std::to_string(width)}, {"height", std::to_string(height)}};
  if (width == 0 || height == 0) throw Error(ErrorCode::corrupt, "image: no pixels", size);
  if (width > kMaxImageSide || height > kMaxImageSide || width * height > kMaxImagePixels) {
    throw Error(ErrorCode::corrupt, "image: larger than allowed", size);
  }
  ImageBytes image;
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.channels = channels;
  try {
    image.pixels.resize(checked_mul(width * height, static_cast<uint64_t>(channels), "image"));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::no_memory, "image: out of memory", size);
  }
  return image;
}

}  // namespace veneer::formats
