// Masks: planes of weights in 0..1. Functions take [..., H, W] and return [M, H, W] f32 in their own bytes. All throw Error(invalid) for a tensor
// that is no mask (missing, not floating, fewer than two dimensions, empty).
#pragma once

#include <cstdint>
#include <string_view>

#include "sampling/nchw.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// As [M, H, W]; shares when it is f32.
Tensor mask_as_batch(const Tensor& mask);
// Bilinear to [M, height, width]; shares when it has that size.
Tensor resize_mask(const Tensor& mask, int64_t height, int64_t width);
// As a factor for samples of `shape` [N, C, h, w]: resized, the same in all channels, rows repeated or cut to N.
Tensor reshape_mask(const Tensor& mask, const Shape& shape);
// The smallest box around all elements that are not 0 in any row; of size 0 when there are none.
Box mask_bounds(const Tensor& mask);

Tensor solid_mask(float value, int64_t width, int64_t height);
Tensor invert_mask(const Tensor& mask);
// 1 where the mask is above `value`, else 0.
Tensor threshold_mask(const Tensor& mask, float value);
// Throws Error(invalid) for a box that leaves the mask.
Tensor crop_mask(const Tensor& mask, const Box& box);
// Takes the maximum (expand > 0) or minimum (expand < 0) of each element's neighbours, |expand| times: all eight, or with `tapered_corners` the four
// that share an edge.
Tensor grow_mask(const Tensor& mask, int64_t expand, bool tapered_corners);
// Multiplies by a ramp that rises from 1/n to 1 over n elements at each side.
struct Feather {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};
Tensor feather_mask(const Tensor& mask, const Feather& feather);

enum class MaskOperation : uint8_t { multiply, add, subtract, logical_and, logical_or, logical_xor };
// "multiply", "add", "subtract", "and", "or", "xor". Throws Error(invalid) listing these.
MaskOperation mask_operation_from_string(std::string_view name);
// `source` combined into `destination` at (x, y) >= 0; the result is clamped to 0..1. The logical ones round to 0 or 1 first. Source rows are
// repeated or cut to destination's.
Tensor combine_masks(const Tensor& destination, const Tensor& source, int64_t x, int64_t y, MaskOperation operation);

// [M, H, W, 3] with the mask in each channel.
Tensor mask_to_image(const Tensor& mask);
// One channel of [N, H, W, C] as a mask.
Tensor image_to_mask(const Tensor& image, int64_t channel);
// 1 where the 8-bit RGB of the pixel is `rgb` (0xRRGGBB), else 0.
Tensor color_to_mask(const Tensor& image, uint32_t rgb);

}  // namespace veneer::sampling
