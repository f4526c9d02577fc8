// Where the hooks of nodes take their patches from: files of loras/ and whole checkpoints.
#pragma once

#include <memory>
#include <string>

#include "formats/model_file.h"
#include "nodes/model_store.h"
#include "variant/hooks.h"

namespace veneer::nodes {

// The patches of an adapter file. For a model of which the file has no layer: Error(invalid) naming both architectures, unless all that the file
// holds is for the other kind of model (a text encoder's layers for a diffusion model, and the other way round): then none.
std::shared_ptr<const variant::HookWeights> lora_hook_weights(formats::ModelFile file);

// The differences between a checkpoint's weights and those of the model as patches. For a model of another architecture: Error(invalid) naming both
// and `name`. A checkpoint without a text encoder has none for one.
std::shared_ptr<const variant::HookWeights> checkpoint_hook_weights(ModelStore::Checkpoint checkpoint, std::string name);

}  // namespace veneer::nodes
