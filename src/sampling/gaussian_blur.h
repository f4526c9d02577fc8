// Blurring latents.
#pragma once

#include "tensor/tensor.h"

namespace veneer::sampling {

// Each plane of [N, C, h, w] f32 convolved with a Gaussian of 9 by 9 elements, mirrored at the borders (the border itself not repeated). sigma in
// elements; 0: no blur. Throws Error(invalid) unless h and w are above 4 and sigma is finite and >= 0.
Tensor gaussian_blur(const Tensor& latent, double sigma);

}  // namespace veneer::sampling
