// Latents for inpainting: the picture with the masked part greyed out, and the mask that the sampler keeps to.
#pragma once

#include "models/vae/vae.h"

namespace veneer::models {

struct InpaintLatent {
  Tensor samples;     // [B, C, h, w] f32
  Tensor noise_mask;  // [M, 1, H, W] f32, zeros and ones, in pixels of the cut picture
};

// pixels: [B, H, W, 3] f32 in 0..1; mask: [M, h, w] or [h, w] f32 in 0..1 (1: to be painted), M 1 or B. The mask is stretched to the picture
// bilinearly; both are cut centrally to multiples of downscale(). Pixels under the rounded mask become 0.5 before encoding; noise_mask is the rounded
// mask grown by a square of `grow` pixels. Throws Error(invalid) for shapes that do not fit and a negative or huge `grow`.
InpaintLatent encode_for_inpaint(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& pixels, const Tensor& mask,
                                 int grow, const VaeCallExtras& extras = {});

}  // namespace veneer::models
