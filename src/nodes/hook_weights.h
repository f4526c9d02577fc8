// Where the hooks of nodes take their patches from: files of loras/ and whole checkpoints.
#pragma once

#include <memory>
#include <string>

#include "formats/model_file.h"
#include "nodes/model_store.h"
#include "variant/hooks.h"

namespace veneer::nodes {

// The kinds of model that a hook acts on: those of which its strength is not 0.
struct HookTargets {
  bool diffusion_model = true;
  bool text_encoder = true;
};

// The patches of an adapter file. For a model of which the file has no layer: Error(invalid) naming both architectures, as a loader's. None where all
// layers of the file are for the other kind of model (a text encoder's for a diffusion model, and the other way round) and the hook acts on that too.
std::shared_ptr<const variant::HookWeights> lora_hook_weights(formats::ModelFile file, const HookTargets& targets = {});

// The differences between a checkpoint's weights and those of the model as patches. For a model of another architecture: Error(invalid) naming both
// and `name`. A checkpoint without a text encoder has none for one.
std::shared_ptr<const variant::HookWeights> checkpoint_hook_weights(ModelStore::Checkpoint checkpoint, std::string name);

}  // namespace veneer::nodes
