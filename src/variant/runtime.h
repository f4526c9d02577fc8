// What all variants of an engine share: the memory they live in, and how they are realised.
#pragma once

#include <memory>

#include "compute/weights.h"
#include "patch/patch_compat.h"
#include "residency/pinned_memory.h"
#include "residency/resident_set.h"
#include "variant/apply_mode.h"

namespace veneer::variant {

// Immutable; the sets in it may be used from any thread.
struct Runtime {
  std::shared_ptr<residency::ResidentSet> residents;
  // Null: nothing is pinned.
  std::shared_ptr<residency::PinnedMemory> pinned = {};
  LoraApplyMode apply_mode = LoraApplyMode::automatic;
  ResidencyMode residency = ResidencyMode::classic;
  patch::PatchCompat compat = patch::PatchCompat::standard;
  // Of linear and convolution weights that no patch changes; patched values are f32 where f32 is computed.
  compute::WeightStorage weight_storage = compute::WeightStorage::computed;
};

}  // namespace veneer::variant
