#include "formats/image_file.h"

#include <array>

#include "formats/jpeg.h"
#include "formats/png.h"
#include "formats/read_file.h"
#include "formats/webp.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

struct ImageFormat {
  bool (*detect)(std::span<const std::byte> bytes);
  ImageBytes (*decode)(std::span<const std::byte> bytes, std::string_view file);
};

// A new format is one file and one line here.
constexpr std::array kFormats = {
    ImageFormat{is_png, decode_png},
    ImageFormat{is_jpeg, decode_jpeg},
    ImageFormat{is_webp, decode_webp},
};

}  // namespace

ImageBytes decode_image(std::span<const std::byte> bytes, std::string_view file) {
  for (const ImageFormat& format : kFormats) {
    if (format.detect(bytes)) return format.decode(bytes, file);
  }
  throw Error(ErrorCode::unsupported, "image: not a PNG, JPEG or WebP file", {{"file", std::string(file)}, {"bytes", std::to_string(bytes.size())}});
}

ImageBytes read_image(const std::filesystem::path& path) { return decode_image(read_file(path, kMaxImageFileBytes), path.string()); }

}  // namespace veneer::formats
