// The way a camera was held, as Exif stores it, and turning a picture upright.
#pragma once

#include <cstddef>
#include <span>

#include "formats/image_bytes.h"

namespace veneer::formats {

// The orientation (1 to 8) in the first directory of a TIFF block, with or without "Exif\0\0" before it; 1, upright, when there is none or the
// block is broken.
int exif_orientation(std::span<const std::byte> exif);

// The picture upright, as Pillow's ImageOps.exif_transpose: 2 mirrored left-right, 3 turned by 180 degrees, 4 mirrored top-bottom, 5 transposed,
// 6 needs 90 degrees clockwise, 7 transversed, 8 needs 90 degrees counter-clockwise. Other values leave it as it is.
ImageBytes apply_orientation(ImageBytes image, int orientation);

}  // namespace veneer::formats
