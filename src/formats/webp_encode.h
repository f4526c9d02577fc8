// WebP to memory, for previews.
#pragma once

#include <cstddef>
#include <vector>

#include "formats/image_bytes.h"

namespace veneer::formats {

// Lossy, RGB or RGBA; gray becomes RGB. `quality` 0 to 100. Throws Error(invalid) for another quality and for sides over 16,383.
std::vector<std::byte> encode_webp(const ImageBytes& image, int quality);

}  // namespace veneer::formats
