// Model families: what a checkpoint's layout is and what its weights cannot tell, as data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/architecture.h"
#include "models/clip/clip_kind.h"
#include "models/unet/config.h"

namespace veneer::models {

// Noise levels that the family was trained on: variances whose square roots grow linearly.
struct ScheduleFacts {
  double beta_start = 0.00085;
  double beta_end = 0.012;
  int timesteps = 1000;
};

struct FamilyDef {
  std::string_view name;   // "sd1"
  std::string_view title;  // for people
  // Prefixes of the parts in a checkpoint, and those under which patches name the same weights (empty: bare).
  std::string_view unet_prefix, vae_prefix;
  std::string_view unet_name, vae_name;
  // The text encoder's kind knows its own prefixes; all tensors of a checkpoint's text encoder begin with this.
  const ClipKind& (*clip)() = nullptr;
  std::string_view clip_stem;
  // Whether there is a UNet of this family under a prefix.
  bool (*has_unet)(const WeightMap& tensors, const std::string& prefix) = nullptr;
  HeadRule unet_heads;
  // Latents that the UNet sees are the autoencoder's times this.
  float latent_scale = 1;
  int latent_channels = 4;
  // "eps" or "v_prediction": what the UNet's output means.
  std::string_view prediction;
  ScheduleFacts schedule;
  // What metadata of saved files call it (Stability AI's ModelSpec, "modelspec.architecture").
  std::string_view modelspec_architecture;
};

// Every family that can be run. The list is in family.cc.
std::span<const FamilyDef> all_families();

// The family of the UNet under `unet_prefix`, by its names and shapes. Throws Error(unsupported) saying what the file looks like when it is none of
// the list.
const FamilyDef& detect_family(const WeightMap& tensors, std::string_view unet_prefix, const std::string& source);

// What a file looks like that is no checkpoint of the list: "a Stable Diffusion XL checkpoint", "a LoRA", ..., or "" when nothing is recognised.
std::string_view looks_like(const WeightMap& tensors);

}  // namespace veneer::models
