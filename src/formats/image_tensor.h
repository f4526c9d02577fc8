// Between pictures of 8 bits and the graph's IMAGE and MASK tensors, with the rounding that ComfyUI's nodes have.
#pragma once

#include <string_view>

#include "formats/image_bytes.h"
#include "tensor/tensor.h"

namespace veneer::formats {

enum class ImageChannel { red, green, blue, alpha };

// IMAGE [1, H, W, 3], f32: v / 255. Gray is repeated, alpha is dropped.
Tensor image_tensor(const ImageBytes& image);

// The MASK that goes with a loaded picture: [1, H, W], f32, 1 - alpha / 255, so that transparent is 1. Zeros [1, 64, 64] when the picture has no
// alpha channel (a key colour does not count as one).
Tensor alpha_mask_tensor(const ImageBytes& image);

// One channel of the picture seen as RGBA, as a MASK [1, H, W], f32: v / 255, alpha as 1 - v / 255. A picture without alpha is opaque.
Tensor channel_mask_tensor(const ImageBytes& image, ImageChannel channel);

// "red", "green", "blue" or "alpha". Throws Error(invalid) naming the allowed values.
ImageChannel image_channel_from_string(std::string_view name);

// Row `index` of an IMAGE [N, H, W, C] (f32, aligned; C is 1, 3 or 4) as bytes: 255 * v, clipped to 0..255, its fraction dropped; NaN is 0.
// Throws Error(invalid) for another shape, dtype or index, and sizes past the bounds of ImageBytes.
ImageBytes image_bytes(const Tensor& images, int64_t index);

}  // namespace veneer::formats
