// A variant under hooks: the same model with the hooks' patches on top, at the strengths of one moment.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "variant/hooks.h"
#include "variant/model_patcher.h"

namespace veneer::variant {

// The patches of hooks for one model, each found once. Used by one thread at a time.
class HookPatchSource {
 public:
  explicit HookPatchSource(HookModel model) : model_(std::move(model)) {}

  // Throws what HookWeights::patches does.
  const HookPatches& patches(const WeightHook& hook);
  const HookModel& model() const { return model_; }
  // What hooks had to say since the last call.
  std::vector<std::string> take_remarks() { return std::exchange(remarks_, {}); }

 private:
  HookModel model_;
  // With the weights that own the patches, so that no other object gets their address.
  std::map<std::shared_ptr<const HookWeights>, HookPatches> known_;
  std::vector<std::string> remarks_;
};

// A hook at one moment.
struct ActiveHook {
  const WeightHook* hook = nullptr;
  double strength = 1;
  bool for_now = false;  // its strength or that of a hook before it changes in the course of the run
};

// The hooks of a group that change the model now, in order. `factors`: one per hook, what its keyframes make of its strength. `scheduled`: the
// factors are those of a moment; otherwise none is for now only.
std::vector<ActiveHook> active_hooks(const HookGroup& group, const HookModel& model, std::span<const double> factors, bool scheduled);

// The model under these hooks. Those for now only may be realised as side branches, the others are patches like those of a loader. Calls
// on_apply_hooks of the new variant. Throws Error(invalid) for strengths that overflow, and what HookPatchSource does.
ModelPatcher hooked_variant(const ModelPatcher& patcher, HookPatchSource& source, std::span<const ActiveHook> hooks);

}  // namespace veneer::variant
