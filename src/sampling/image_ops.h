// Pictures, [N, H, W, C] f32 in 0..1. Every function returns its own bytes and throws Error(invalid) for a tensor that is no picture.
#pragma once

#include <cstdint>

#include "sampling/mask_ops.h"
#include "sampling/resample.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// One of width and height may be 0: it follows from the aspect ratio. Both 0: the picture as it is.
Tensor scale_image(const Tensor& image, int64_t width, int64_t height, ResampleMethod method, Crop crop);
// To round(extent * factor). Throws Error(invalid) unless factor is finite and > 0.
Tensor scale_image_by(const Tensor& image, double factor, ResampleMethod method);
// To about `megapixels` * 2^20 pixels of the same aspect ratio.
Tensor scale_image_to_total_pixels(const Tensor& image, double megapixels, ResampleMethod method);

Tensor solid_image(int64_t width, int64_t height, int64_t batch, uint32_t rgb);  // 0xRRGGBB
Tensor invert_image(const Tensor& image);
// The rows of both; the second is resized to the first's size (bilinear, center). When only one has an alpha channel, the other gets a full one.
Tensor batch_images(const Tensor& first, const Tensor& second);
// Cut to what lies in the picture; a position beyond it is moved to the last row or column.
Tensor crop_image(const Tensor& image, const Box& box);
// Where the mask (see composite_masked) is 1 the source, else the destination. A source without the destination's alpha
// channel gets a full one, a source's alpha that the destination lacks is dropped.
struct ImagePlacement {
  int64_t x = 0, y = 0;
  bool resize_source = false;
};
Tensor composite_images(const Tensor& destination, const Tensor& source, const Tensor& mask, const ImagePlacement& placement);

struct PaddedImage {
  Tensor image;  // [N, H + top + bottom, W + left + right, C], the border is grey 0.5
  Tensor mask;   // [1, same, same]: 1 in the border, in the picture falling to 0 over `feathering` pixels (quadratically)
};
// No feathering when it reaches over the middle of the picture.
PaddedImage pad_for_outpaint(const Tensor& image, const Feather& border, int64_t feathering);

}  // namespace veneer::sampling
