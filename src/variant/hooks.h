// Hooks: patches on a model's weights that hold only while a prompt is evaluated, with strengths that may change from step to step.
//
// A hook is made without knowing the models it will meet; its patches for a model are found when that model runs under it.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "patch/key_map.h"
#include "patch/patch_compat.h"
#include "patch/patch_value.h"
#include "sampling/conditioning.h"
#include "variant/base_model.h"
#include "variant/hook_keyframes.h"

namespace veneer::variant {

enum class HookTarget : uint8_t { diffusion_model, text_encoder };

// The model that a hook is to change.
struct HookModel {
  HookTarget target = HookTarget::diffusion_model;
  std::shared_ptr<const BaseModel> base;
  patch::UnetLayout layout = {};  // of a diffusion model
  patch::PatchCompat compat = patch::PatchCompat::standard;
};

struct HookPatches {
  std::map<std::string, patch::PatchValuePtr, std::less<>> values;  // by weight key; empty when the hook has nothing for the model
  std::string remark;                                               // what a user should weigh: parts that fit nothing; or ""
};

// Where a hook's patches come from: an adapter file, another checkpoint. Immutable; all members may be called from several threads.
class HookWeights {
 public:
  virtual ~HookWeights() = default;
  // Equal for two objects exactly when their patches are.
  virtual Fingerprint fingerprint() const = 0;
  // Throws Error(invalid) naming both sides when it is made for another architecture.
  virtual HookPatches patches(const HookModel& model) const = 0;
};

// Patches that are known already, on the weights of one model each. Keys that a model has not are left out; Error(invalid) when it has none of them.
std::shared_ptr<const HookWeights> make_hook_weights(std::map<std::string, patch::PatchValuePtr, std::less<>> diffusion_model,
                                                     std::map<std::string, patch::PatchValuePtr, std::less<>> text_encoder = {});

struct WeightHook {
  std::shared_ptr<const HookWeights> weights;
  double strength_model = 1;
  double strength_clip = 1;
  HookKeyframes keyframes = {};

  double strength(HookTarget target) const { return target == HookTarget::text_encoder ? strength_clip : strength_model; }
};

// Hooks that hold together, applied in order. Immutable.
class HookGroup final : public sampling::CondHooks {
 public:
  // A hook is there once: of hooks with the same weights object and strengths the first counts. Throws Error(invalid) for strengths that are not
  // finite or a hook without weights.
  explicit HookGroup(std::vector<WeightHook> hooks);

  const std::vector<WeightHook>& hooks() const { return hooks_; }
  // Of everything in it: weights, strengths, keyframes, in order.
  Fingerprint fingerprint() const override { return fingerprint_; }

 private:
  std::vector<WeightHook> hooks_;
  Fingerprint fingerprint_;
};

// Null stands for no hooks.
using HookGroupPtr = std::shared_ptr<const HookGroup>;

// The hooks of all groups in order. Null when there are none; the group itself when there is one.
HookGroupPtr combine_hooks(std::span<const HookGroupPtr> groups);
// Every hook with these keyframes in place of its own. Null stays null.
HookGroupPtr with_keyframes(const HookGroupPtr& group, const HookKeyframes& keyframes);

// Each entry under `group` behind the hooks it has; entries with equal hooks share one group. Null changes nothing, nor does a group of which no hook
// has a strength on the diffusion model.
sampling::Conditioning add_hooks(const sampling::Conditioning& conditioning, const HookGroupPtr& group);

// The group behind a prompt's hooks. Throws Error(internal) when they are of another kind.
const HookGroup& as_hook_group(const sampling::CondHooks& hooks);

}  // namespace veneer::variant
