// JPEG from memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "formats/image_bytes.h"

namespace veneer::formats {

// Baseline and progressive, gray, colour and CMYK (as RGB, by Pillow's formula), turned upright by its Exif orientation. `file` names the file in
// errors. Throws Error(corrupt) for a broken file, one that ends early included, and Error(unsupported) for one that libjpeg cannot read.
ImageBytes decode_jpeg(std::span<const std::byte> bytes, std::string_view file);

bool is_jpeg(std::span<const std::byte> bytes);

}  // namespace veneer::formats
