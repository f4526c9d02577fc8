// How far two pictures, or two latents, are apart.
#pragma once

#include <filesystem>

#include "tensor/tensor.h"

namespace veneer::testing {

// Peak signal-to-noise ratio of two picture files in dB, over all 8-bit samples; equal pictures give kEqualPsnr. Throws Error(invalid) when their
// sizes differ.
inline constexpr double kEqualPsnr = 100;
double psnr(const std::filesystem::path& a, const std::filesystem::path& b);

// The largest difference of two f32 tensors over the largest magnitude in `want`. Throws Error(invalid) when shapes differ; NaN counts as infinite.
double relative_error(const Tensor& got, const Tensor& want);

}  // namespace veneer::testing
