// The methods behind `resample`, one file each. Arguments are checked: planes are f32, not empty, extents are in 1..2^20.
#pragma once

#include <cstdint>

#include "sampling/resample.h"
#include "tensor/tensor.h"

namespace veneer::sampling::detail {

// A target element lies `t` of the way from source element `low` to `high`. Worked out in f32 with one rounding (a fused multiply-add), as torch
// does: bislerp jumps where they round differently.
struct LinearPosition {
  int64_t low = 0, high = 0;
  float t = 0;
};
LinearPosition linear_position(int64_t target, int64_t in, int64_t out);

// nearest_exact, bilinear, area, bicubic: weighted sums along x, then along y.
Tensor resample_separable(const Tensor& samples, int64_t width, int64_t height, ResampleMethod method);
Tensor resample_bislerp(const Tensor& samples, int64_t width, int64_t height);
Tensor resample_lanczos(const Tensor& samples, int64_t width, int64_t height);

}  // namespace veneer::sampling::detail
