// The UNet as a tree of module ids: what is run, in which order, with which weights.
//
// Layout: an encoder of residual blocks and spatial transformers, a middle block, a decoder that takes the encoder's results back in reverse order
// (Ronneberger et al. 2015; Rombach et al. 2022). Names of modules are those of the original Stable Diffusion checkpoints.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/architecture.h"
#include "models/unet/config.h"

namespace veneer::models {

// The prefix of every key of a UNet, as patches name them.
inline constexpr std::string_view kUnetPrefix = "diffusion_model.";
inline constexpr int kNormGroups = 32;

struct ResBlockIds {
  variant::ModuleId in_norm = 0, in_conv = 0, emb = 0, out_norm = 0, out_conv = 0;
  std::optional<variant::ModuleId> skip;  // 1x1 convolution where the channels change
};

struct AttentionIds {
  variant::ModuleId to_q = 0, to_k = 0, to_v = 0, to_out = 0;
};

struct TransformerBlockIds {
  variant::ModuleId norm1 = 0, norm2 = 0, norm3 = 0;
  AttentionIds attn1;  // self attention
  AttentionIds attn2;  // cross attention to the text
  variant::ModuleId ff_in = 0, ff_out = 0;
};

struct SpatialTransformerIds {
  variant::ModuleId norm = 0, proj_in = 0, proj_out = 0;
  std::vector<TransformerBlockIds> blocks;
  int heads = 0, head_dim = 0;
};

// One input or output block. What is set runs in this order.
struct UnetBlock {
  std::optional<variant::ModuleId> conv;  // the first convolution, or a downsampling one
  std::optional<ResBlockIds> res;
  std::optional<SpatialTransformerIds> transformer;
  std::optional<variant::ModuleId> upsample;  // convolution after the nearest-neighbour upsampling
};

struct UnetStructure {
  variant::ModuleId time_in = 0, time_out = 0;
  std::optional<variant::ModuleId> label_in, label_out;
  std::vector<UnetBlock> input, output;
  ResBlockIds middle_in, middle_out;
  SpatialTransformerIds middle;
  variant::ModuleId out_norm = 0, out_conv = 0;
  Architecture architecture;
};

UnetStructure build_unet_structure(const UnetConfig& config);

}  // namespace veneer::models
