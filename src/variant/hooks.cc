#include "variant/hooks.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "veneer/error.h"

namespace veneer::variant {
namespace {

using Patches = std::map<std::string, patch::PatchValuePtr, std::less<>>;

class KnownWeights final : public HookWeights {
 public:
  KnownWeights(Patches diffusion_model, Patches text_encoder) : diffusion_model_(std::move(diffusion_model)), text_encoder_(std::move(text_encoder)) {
    FingerprintBuilder builder;
    builder.add("known hook weights");
    for (const Patches* patches : {&diffusion_model_, &text_encoder_}) {
      builder.add(patches->size());
      for (const auto& [key, value] : *patches) {
        if (!value) throw Error(ErrorCode::invalid, "hook: patch is missing", {{"key", key}});
        builder.add(key).add(value->fingerprint());
      }
    }
    fingerprint_ = builder.finish();
  }

  Fingerprint fingerprint() const override { return fingerprint_; }

  HookPatches patches(const HookModel& model) const override {
    const Patches& all = model.target == HookTarget::text_encoder ? text_encoder_ : diffusion_model_;
    HookPatches out;
    for (const auto& [key, value] : all) {
      if (model.base->has_key(key)) out.values.emplace(key, value);
    }
    if (out.values.empty() && !all.empty()) {
      throw Error(ErrorCode::invalid, "hook: no patch fits the model",
                  {{"patches", std::to_string(all.size())}, {"first", all.begin()->first}, {"model architecture", model.base->architecture()}});
    }
    const size_t unused = all.size() - out.values.size();
    if (unused > 0) out.remark = std::to_string(unused) + " of " + std::to_string(all.size()) + " patches of a hook are not known to the model";
    return out;
  }

 private:
  Patches diffusion_model_, text_encoder_;
  Fingerprint fingerprint_;
};

// What prompts bring to the diffusion model. Hooks that do nothing there must not keep prompts out of a common call of the network.
bool acts_on_diffusion_model(const HookGroup& group) {
  return std::ranges::any_of(group.hooks(), [](const WeightHook& hook) { return hook.strength_model != 0; });
}

bool same_hook(const WeightHook& a, const WeightHook& b) {
  return a.weights == b.weights && a.strength_model == b.strength_model && a.strength_clip == b.strength_clip;
}

}  // namespace

std::shared_ptr<const HookWeights> make_hook_weights(Patches diffusion_model, Patches text_encoder) {
  return std::make_shared<KnownWeights>(std::move(diffusion_model), std::move(text_encoder));
}

HookGroup::HookGroup(std::vector<WeightHook> hooks) {
  FingerprintBuilder builder;
  builder.add("hooks");
  for (WeightHook& hook : hooks) {
    if (!hook.weights) throw Error(ErrorCode::invalid, "hook: weights are missing");
    if (!std::isfinite(hook.strength_model) || !std::isfinite(hook.strength_clip)) {
      throw Error(ErrorCode::invalid, "hook: strength is not finite",
                  {{"strength_model", std::to_string(hook.strength_model)}, {"strength_clip", std::to_string(hook.strength_clip)}});
    }
    if (std::ranges::any_of(hooks_, [&](const WeightHook& earlier) { return same_hook(earlier, hook); })) continue;
    builder.add(hook.weights->fingerprint()).add(hook.strength_model).add(hook.strength_clip);
    add_to_fingerprint(builder, hook.keyframes);
    hooks_.push_back(std::move(hook));
  }
  fingerprint_ = builder.finish();
}

HookGroupPtr combine_hooks(std::span<const HookGroupPtr> groups) {
  std::vector<HookGroupPtr> given;
  std::ranges::copy_if(groups, std::back_inserter(given), [](const HookGroupPtr& group) { return group != nullptr; });
  if (given.empty()) return nullptr;
  if (given.size() == 1) return given.front();
  std::vector<WeightHook> hooks;
  for (const HookGroupPtr& group : given) hooks.insert(hooks.end(), group->hooks().begin(), group->hooks().end());
  return std::make_shared<const HookGroup>(std::move(hooks));
}

HookGroupPtr with_keyframes(const HookGroupPtr& group, const HookKeyframes& keyframes) {
  if (!group) return nullptr;
  std::vector<WeightHook> hooks = group->hooks();
  for (WeightHook& hook : hooks) hook.keyframes = keyframes;
  return std::make_shared<const HookGroup>(std::move(hooks));
}

sampling::Conditioning add_hooks(const sampling::Conditioning& conditioning, const HookGroupPtr& group) {
  sampling::Conditioning out = conditioning;
  if (!group || !acts_on_diffusion_model(*group)) return out;
  std::map<Fingerprint, HookGroupPtr> combined;
  for (sampling::ConditioningEntry& entry : out) {
    if (!entry.hooks) {
      entry.hooks = group;
      continue;
    }
    HookGroupPtr& both = combined[entry.hooks->fingerprint()];
    if (!both) {
      as_hook_group(*entry.hooks);
      const HookGroupPtr parts[] = {std::static_pointer_cast<const HookGroup>(entry.hooks), group};
      both = combine_hooks(parts);
    }
    entry.hooks = both;
  }
  return out;
}

const HookGroup& as_hook_group(const sampling::CondHooks& hooks) {
  const auto* group = dynamic_cast<const HookGroup*>(&hooks);
  if (group == nullptr) throw Error(ErrorCode::internal, "hook: a prompt's hooks are of an unknown kind");
  return *group;
}

}  // namespace veneer::variant
