// PNG in memory, both ways. What is read and written: docs/formats/png.md.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "formats/image_bytes.h"

namespace veneer::formats {

struct PngOptions {
  int compress_level = 4;  // zlib's 0 (none) to 9 (smallest)
};

// The file of an image of 1, 3 or 4 channels with its text chunks in order, before the pixels: tEXt where the value is Latin-1, else iTXt. Equal
// images give equal bytes (for one libpng and zlib): no time is stored. Throws Error(invalid) for a channel count, size or level out of range, a key
// that is not 1 to 79 Latin-1 characters, and text with a zero byte or that is not UTF-8.
std::vector<std::byte> encode_png(const ImageBytes& image, const PngOptions& options = {});

// Every colour type, depth and interlacing, as 8 bits: of 16-bit samples the high byte; palettes and small grays expanded; gray with alpha as RGBA.
// `file` names the file in errors. Throws Error(corrupt) for anything that breaks the format, pixels that end early included.
ImageBytes decode_png(std::span<const std::byte> bytes, std::string_view file);

// Whether the bytes begin as a PNG does.
bool is_png(std::span<const std::byte> bytes);

}  // namespace veneer::formats
