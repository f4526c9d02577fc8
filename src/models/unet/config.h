// The configuration of a UNet of the Stable Diffusion family, read off the shapes of its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace veneer::models {

// Shapes cannot tell how channels split into heads; a model family does. Exactly one of the two is set.
struct HeadRule {
  int heads = 0;     // this many heads at every level (SD 1.x: 8)
  int head_dim = 0;  // heads of this width (SD 2.x, SDXL: 64)
  bool operator==(const HeadRule&) const = default;
};

// One resolution of the UNet.
struct UnetLevel {
  int64_t channels = 0;
  // Depth of the transformer behind each residual block (0: none) on the way down, and on the way up in order of execution (one block more).
  std::vector<int> input_depths, output_depths;
  bool operator==(const UnetLevel&) const = default;
};

struct UnetConfig {
  int64_t in_channels = 4, out_channels = 4;
  int64_t model_channels = 0;  // width of the first convolution and of the timestep embedding
  std::vector<UnetLevel> levels;
  int middle_depth = 1;
  int64_t context_dim = 0;         // width of the text context
  bool linear_projection = false;  // proj_in and proj_out are linear layers instead of 1x1 convolutions
  int64_t adm_channels = 0;        // width of the vector conditioning, 0: the model has none
  HeadRule heads;
  bool operator==(const UnetConfig&) const = default;
};

// `weights` is keyed "diffusion_model.input_blocks.0.0.weight". Throws Error(corrupt) when keys are missing or shapes make no UNet,
// Error(unsupported) for a UNet of another kind, both naming `source`.
UnetConfig infer_unet_config(const WeightMap& weights, const HeadRule& heads, const std::string& source);

// Throws Error(unsupported) unless norm groups and heads divide the channels.
void check_unet_config(const UnetConfig& config, const std::string& source);

// SD 1.5: 320 channels times (1, 2, 4, 4), two residual blocks per level, transformers at the first three, text width 768.
UnetConfig sd15_unet_config();

}  // namespace veneer::models
