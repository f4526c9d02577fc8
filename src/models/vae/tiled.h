// The autoencoder in overlapping tiles: bounded memory for large images, at the price of seams that the overlap hides.
//
// The result is the mean of three passes with tiles of different proportions, each a weighted mean of its tiles. A tile's weight ramps up linearly
// over the overlap at all of its sides, also at the border of the image.
#pragma once

#include "models/vae/vae.h"

namespace veneer::models {

// Width, height and overlap of tiles: in latents for decode_tiled, in pixels for encode_tiled.
struct TileSize {
  int64_t x = 64, y = 64;
  int64_t overlap = 16;
};

// latent: [B, C, h, w] f32 -> image [B, H, W, 3] f32 in 0..1. Passes: (x/2, 2y), (2x, y/2), (x, y). Throws Error(invalid) when a pass has to cut and
// its tiles are not larger than the overlap.
Tensor decode_tiled(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& latent, const TileSize& tile,
                    const VaeCallExtras& extras = {});

// image: [B, H, W, 3] f32 in 0..1 -> latent [B, C, h, w] f32. Passes: (x, y), (2x, y/2), (x/2, 2y). Latents that no tile covers, which happens when
// tiles or overlap are no multiples of downscale(), are NaN.
Tensor encode_tiled(const Vae& vae, variant::ModelView& view, compute::Context& context, const Tensor& image, const TileSize& tile,
                    const VaeCallExtras& extras = {});

}  // namespace veneer::models
