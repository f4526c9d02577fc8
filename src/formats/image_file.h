// A picture from a file of any format that Veneer reads.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "formats/image_bytes.h"

namespace veneer::formats {

// PNG, JPEG or WebP by content; the file's name does not matter. Upright by its Exif orientation. `file` names the file in errors. Throws
// Error(corrupt) for a broken file and Error(unsupported) for a format that is none of these.
ImageBytes decode_image(std::span<const std::byte> bytes, std::string_view file);

// The same from disk. Throws Error(not_found) or Error(invalid) as well, also for a file of more than kMaxImageFileBytes.
ImageBytes read_image(const std::filesystem::path& path);

}  // namespace veneer::formats
