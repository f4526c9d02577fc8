// WebP from memory.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "formats/image_bytes.h"

namespace veneer::formats {

// Lossy and lossless still pictures as RGB or RGBA, turned upright by their Exif orientation. `file` names the file in errors. Throws
// Error(corrupt) for a broken file, one that ends early included, and Error(unsupported) for an animation.
ImageBytes decode_webp(std::span<const std::byte> bytes, std::string_view file);

bool is_webp(std::span<const std::byte> bytes);

}  // namespace veneer::formats
