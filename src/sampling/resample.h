// Changing the size of latents, masks and pictures with the methods and the cropping rule that workflows name.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace veneer::sampling {

enum class ResampleMethod : uint8_t {
  nearest_exact,  // the element under the centre of the target element
  bilinear,       // two taps per axis, no smoothing when shrinking
  area,           // mean of the elements that the target element covers
  bicubic,        // four taps per axis, Keys' kernel with a = -0.75, no smoothing when shrinking
  bislerp,        // spherical interpolation of each position's channel vector, along x and then y
  lanczos,        // three lobes, widened when shrinking, on 8-bit values: for pictures in 0..1 with 1 to 4 channels
};
enum class Crop : uint8_t {
  disabled,
  center,  // cuts the longer axis evenly at both ends so that the aspect ratio stays
};

// "nearest-exact", "bilinear", "area", "bicubic", "bislerp", "lanczos". Throws Error(invalid) listing these.
ResampleMethod resample_method_from_string(std::string_view name);
std::string_view to_string(ResampleMethod method);
// "disabled", "center". Throws Error(invalid).
Crop crop_from_string(std::string_view name);

// samples: [N, C, H, W], floating -> [N, C, height, width] f32. Runs in parallel over planes or pictures.
// Throws Error(invalid) for empty planes, a target extent below 1 or above 2^20, or a channel count that the method cannot take.
Tensor resample(const Tensor& samples, int64_t width, int64_t height, ResampleMethod method, Crop crop = Crop::disabled);

}  // namespace veneer::sampling
