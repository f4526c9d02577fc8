// JPEG to memory, for previews.
#pragma once

#include <cstddef>
#include <vector>

#include "formats/image_bytes.h"

namespace veneer::formats {

// Baseline, gray or RGB; alpha is dropped. `quality` 1 to 100. Throws Error(invalid) for another quality or channel count, and for sides over 65,500.
std::vector<std::byte> encode_jpeg(const ImageBytes& image, int quality);

}  // namespace veneer::formats
