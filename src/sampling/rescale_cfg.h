// RescaleCFG: guidance whose result keeps the contrast of the positive prediction.
#pragma once

#include "sampling/guidance_options.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// Guidance as a velocity, scaled back to the standard deviation (of each row, unbiased) of the positive velocity, mixed by `multiplier` (0: plain
// guidance, 1: all rescaled). Returns clean latents, as the predictions are. An undefined negative counts as zeros; at sigma 0 it
// is plain guidance. Source: Lin et al. 2023,
// "Common Diffusion Noise Schedules and Sample Steps are Flawed", section 3.4.
Tensor rescale_cfg(const Tensor& x, float sigma, const Predictions& predictions, double scale, double multiplier);

}  // namespace veneer::sampling
