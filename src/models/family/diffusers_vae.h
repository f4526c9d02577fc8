// Autoencoders in the layout of the diffusers library, under the names of the original one.
#pragma once

#include "models/architecture.h"

namespace veneer::models {

// Whether there are tensors of such an autoencoder under `prefix`.
bool is_diffusers_vae(const WeightMap& tensors, std::string_view prefix);

// The tensors under `prefix`, each under its original name ("encoder.down_blocks.0.resnets.1.conv1.weight" is "encoder.down.0.block.1.conv1.weight");
// names that fit nothing stay as they are, and then belong to no part of the network.
WeightMap with_original_vae_names(const WeightMap& tensors, std::string_view prefix);

}  // namespace veneer::models
