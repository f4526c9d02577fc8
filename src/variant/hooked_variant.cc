#include "variant/hooked_variant.h"

#include "veneer/error.h"

namespace veneer::variant {

const HookPatches& HookPatchSource::patches(const WeightHook& hook) {
  const auto known = known_.find(hook.weights);
  if (known != known_.end()) return known->second;
  HookPatches found = hook.weights->patches(model_);
  if (!found.remark.empty()) remarks_.push_back(found.remark);
  return known_.emplace(hook.weights, std::move(found)).first->second;
}

std::vector<ActiveHook> active_hooks(const HookGroup& group, const HookModel& model, std::span<const double> factors, bool scheduled) {
  if (factors.size() != group.hooks().size()) throw Error(ErrorCode::internal, "hook: strengths and hooks differ in count");
  std::vector<ActiveHook> out;
  // The order of patches is part of what they do, so behind a hook that changes all others are for now only too.
  bool behind_change = false;
  for (size_t i = 0; i < factors.size(); ++i) {
    const WeightHook& hook = group.hooks()[i];
    behind_change = behind_change || (scheduled && hook.keyframes.varies());
    const double own = hook.strength(model.target);
    const double strength = own * factors[i];
    // Some of the reference's kinds change a weight at strength 0 too.
    const bool zero_counts = model.compat == patch::PatchCompat::reference;
    if (own == 0 || (strength == 0 && !zero_counts)) continue;
    out.push_back({&hook, strength, behind_change});
  }
  return out;
}

ModelPatcher hooked_variant(const ModelPatcher& patcher, HookPatchSource& source, std::span<const ActiveHook> hooks) {
  ModelPatcher out = patcher.clone();
  for (const ActiveHook& active : hooks) {
    const HookPatches& patches = source.patches(*active.hook);
    if (active.for_now) {
      out.add_hook_patches(patches.values, active.strength);
    } else {
      out.add_patches(patches.values, active.strength);
    }
  }
  out.run_callbacks(CallbackPoint::on_apply_hooks);
  return out;
}

}  // namespace veneer::variant
