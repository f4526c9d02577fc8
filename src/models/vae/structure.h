// The autoencoder as a tree of module ids.
#pragma once

#include <optional>
#include <vector>

#include "models/architecture.h"
#include "models/vae/config.h"

namespace veneer::models {

inline constexpr int kVaeNormGroups = 32;
inline constexpr size_t kMaxVaeLevels = 8;

struct VaeResBlockIds {
  variant::ModuleId norm1 = 0, conv1 = 0, norm2 = 0, conv2 = 0;
  std::optional<variant::ModuleId> shortcut;  // 1x1 convolution where the channels change
};

struct VaeMiddleIds {
  VaeResBlockIds block_1, block_2;
  variant::ModuleId norm = 0, q = 0, k = 0, v = 0, proj_out = 0;
};

struct VaeLevelIds {
  std::vector<VaeResBlockIds> blocks;
  std::optional<variant::ModuleId> resample;  // convolution of the downsampling or after the upsampling
};

struct VaeHalfIds {
  variant::ModuleId conv_in = 0;
  std::vector<VaeLevelIds> levels;  // highest resolution first; the decoder runs them from the back
  VaeMiddleIds middle;
  variant::ModuleId norm_out = 0, conv_out = 0;
};

struct VaeStructure {
  VaeHalfIds encoder, decoder;
  std::optional<variant::ModuleId> quant, post_quant;
  Architecture architecture;
};

VaeStructure build_vae_structure(const VaeConfig& config);

}  // namespace veneer::models
