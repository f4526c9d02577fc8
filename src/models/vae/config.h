// The configuration of a KL autoencoder (Rombach et al. 2022), read off the shapes of its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace veneer::models {

struct VaeLevel {
  int64_t channels = 0;
  int res_blocks = 0;
  bool operator==(const VaeLevel&) const = default;
};

struct VaeConfig {
  int64_t image_channels = 3;
  int64_t encoder_width = 0;    // of the encoder's first convolution
  int64_t z_channels = 0;       // of the encoder's mean and the decoder's input
  int64_t latent_channels = 0;  // of the latent outside; z_channels where there are no quant convolutions
  // Highest resolution first. The last level's channels are those of the middle.
  std::vector<VaeLevel> encoder, decoder;
  bool quant_convs = true;
  bool linear_attention = false;  // the middle's q, k, v, proj_out are stored as matrices instead of 1x1 convolutions
  bool operator==(const VaeConfig&) const = default;

  // Pixels per latent, in each direction.
  int downscale() const { return 1 << (encoder.size() - 1); }
};

// `weights` is keyed as a bare VAE file: "encoder.conv_in.weight". Throws Error(corrupt) when keys are missing or shapes make no autoencoder,
// Error(unsupported) for one of another kind, both naming `source`.
VaeConfig infer_vae_config(const WeightMap& weights, const std::string& source);

// The f = 8 autoencoder of SD 1.x: 128 channels times (1, 2, 4, 4), 4 latent channels.
VaeConfig sd15_vae_config();

}  // namespace veneer::models
