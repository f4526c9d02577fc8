// ModelPatcher: one logical variant of a shared base model.
//
// It describes how the variant differs (patches on weights, object patches, options, what extensions attach) and computes nothing until it is asked
// for a view to run. The base is never written: a patched weight is a new tensor, held in the resident set under the fingerprint of what it was made
// of. So there is nothing to undo: whatever is dropped, on whatever path, leaves the base as it was.
//
// A ModelPatcher is a value: copies share the base and the description until one of them changes. Clones also share the base's load slot: what is
// loaded of it (load, partially_load, unpatch_model). Running views do not depend on the slot, so several variants run side by side.
//
// Const members may be called from several threads; changing one while another thread reads it is a race. The slot locks itself.
#pragma once

#include <algorithm>
#include <any>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "variant/description.h"
#include "variant/load_slot.h"
#include "variant/model_view.h"

namespace veneer::variant {

// A patch for one weight, or for a slice of it.
struct PatchEntry {
  std::string key;
  patch::PatchValuePtr value;
  std::optional<patch::Offset> offset = {};
  std::optional<patch::WeightFunction> function = {};
};

// A weight of a variant, undone: the base's tensor and the records on it.
struct KeyPatches {
  Tensor weight;
  std::vector<patch::PatchRecord> records;
};

struct CloneOptions {
  // Copies every weight of the base: the clone shares nothing and is no `is_clone` of this one.
  bool force_deepcopy = false;
  // The clone's residency is classic even where the engine's is dynamic.
  bool disable_dynamic = false;
  // The clone is a variant of this base. Throws Error(invalid) when its architecture is another.
  std::shared_ptr<const BaseModel> model_override = {};
};

class ModelPatcher {
 public:
  // `compute_dtype`: f32 or bf16, what views of this variant compute in. `runtime` is shared by all variants of an engine.
  ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<const Runtime> runtime, DType compute_dtype);
  // With a runtime of its own around `residents`.
  ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<residency::ResidentSet> residents, DType compute_dtype);

  // A variant of its own: later changes of either do not reach the other. Its parent is this patcher's identity. Calls on_clone.
  ModelPatcher clone(const CloneOptions& options = {}) const;

  // Whether both are variants of one base object.
  bool is_clone(const ModelPatcher& other) const { return description_.model == other.description_.model; }
  // Whether both compute the same: by fingerprint, never by object identity. PatchCompat::reference compares patches and names of attachments only.
  bool clone_has_same_weights(const ModelPatcher& other, patch::PatchCompat compat = patch::PatchCompat::standard) const;

  // --- Patches. W' = strength_model * W + strength_patch * dW for each record in order.

  // Appends records for the keys that the base has and returns those keys, sorted. Refreshes patches_uuid; computes nothing. With strengths 0 and 1
  // there is nothing to append (but in PatchCompat::reference): the variant stays what it was. Throws Error(invalid) for strengths that are not
  // finite, with the patcher as it was.
  std::vector<std::string> add_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch = 1,
                                       double strength_model = 1);
  // The same for slices and functions, in the order given; returns whether each entry was taken.
  std::vector<bool> add_patches(std::span<const PatchEntry> entries, double strength_patch = 1, double strength_model = 1);
  // Changes with every add_patches, also one that took no key.
  const Fingerprint& patches_uuid() const { return patches_uuid_; }
  const PatchMap& patches() const { return *description_.patches; }
  std::span<const patch::PatchRecord> key_patches(std::string_view key) const { return description_.records(key); }
  // The same for patches whose strength holds for now only (hooks): on top of the others, as side branches where the apply mode leaves the choice.
  // patches_uuid stays.
  std::vector<std::string> add_hook_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch = 1,
                                            double strength_model = 1);
  // Weight and records of every key of the base that starts with `prefix`: what merging takes from a variant. Reads no weight.
  std::map<std::string, KeyPatches, std::less<>> get_key_patches(std::string_view prefix = {}) const;
  // Changes the weight under `key` after its patches. Throws Error(not_found) for a key the base has not.
  void add_weight_wrapper(std::string_view key, WeightWrapper wrapper);

  // --- Object patches: overlays on named slots of the model, seen by this variant (and its later clones) only.

  void add_object_patch(const std::string& path, ModelObject object);
  // The overlay, else the base's own. Throws Error(not_found).
  ModelObject get_model_object(const std::string& path) const;
  template <typename T>
  std::shared_ptr<const T> get_model_object(const std::string& path) const {
    return get_model_object(path).template as<T>();
  }
  const std::map<std::string, ModelObject>& object_patches() const { return description_.extras->object_patches; }

  // --- Model options. Each setter changes this variant only.

  const ModelOptions& model_options() const { return description_.extras->options; }
  const TransformerOptions& transformer_options() const { return model_options().transformer_options; }
  void set_model_options(ModelOptions options);
  void set_transformer_options(TransformerOptions options);
  void set_model_sampler_cfg_function(decltype(sampling::GuidanceOptions::cfg_function)::value_type function, bool disable_cfg1_optimization = false);
  void set_model_sampler_pre_cfg_function(decltype(sampling::GuidanceOptions::pre_cfg)::value_type function, bool disable_cfg1_optimization = false);
  void set_model_sampler_post_cfg_function(decltype(sampling::GuidanceOptions::post_cfg)::value_type function,
                                           bool disable_cfg1_optimization = false);
  void set_model_sampler_calc_cond_batch_function(decltype(sampling::GuidanceOptions::calc_cond_batch)::value_type function);
  void set_model_unet_function_wrapper(decltype(sampling::GuidanceOptions::unet_wrapper)::value_type function);
  void set_model_denoise_mask_function(decltype(sampling::GuidanceOptions::denoise_mask_function)::value_type function);
  void set_model_attn1_patch(decltype(TransformerOptions::attn1_patch)::value_type patch);
  void set_model_attn2_patch(decltype(TransformerOptions::attn2_patch)::value_type patch);
  void set_model_attn1_output_patch(decltype(TransformerOptions::attn1_output_patch)::value_type patch);
  void set_model_attn2_output_patch(decltype(TransformerOptions::attn2_output_patch)::value_type patch);
  // At one place: a position with transformer_index -1 stands for all transformer blocks of the block. The last one set there holds.
  void set_model_attn1_replace(const BlockPosition& position, decltype(TransformerOptions::attn1_replace)::mapped_type patch);
  void set_model_attn2_replace(const BlockPosition& position, decltype(TransformerOptions::attn2_replace)::mapped_type patch);
  void set_model_input_block_patch(decltype(TransformerOptions::input_block_patch)::value_type patch);
  void set_model_input_block_patch_after_skip(decltype(TransformerOptions::input_block_patch_after_skip)::value_type patch);
  void set_model_output_block_patch(decltype(TransformerOptions::output_block_patch)::value_type patch);
  void set_model_middle_patch(decltype(TransformerOptions::middle_patch)::value_type patch);
  void set_model_emb_patch(decltype(TransformerOptions::emb_patch)::value_type patch);
  // f32 or bf16, else Error(invalid). Refreshes patches_uuid: every packed weight is another one.
  void set_model_compute_dtype(DType dtype);

  // --- What extensions attach.

  void add_callback(CallbackPoint point, const std::string& key, Callback callback);
  // Calls those of `point` in the order of their keys and of adding; what one throws ends the round and is rethrown.
  void run_callbacks(CallbackPoint point, ModelPatcher* other = nullptr);
  void add_wrapper(const std::string& key, NetworkWrapper wrapper);
  void remove_wrappers(const std::string& key);
  const Wrappers& wrappers() const { return description_.extras->wrappers; }
  void set_attachment(const std::string& key, std::any object);
  void remove_attachment(const std::string& key);
  // An empty any when there is none.
  std::any get_attachment(const std::string& key) const;
  void set_injections(const std::string& key, std::vector<Injection> injections);
  void remove_injections(const std::string& key);
  // Models that run beside this one; cloned when it is.
  void set_additional_models(const std::string& key, std::vector<ModelPatcher> models);
  void remove_additional_models(const std::string& key);
  std::vector<ModelPatcher> get_additional_models(const std::string& key) const;
  // Of all keys, and of those models in turn.
  std::vector<ModelPatcher> get_nested_additional_models() const;
  // Enters all injections, in order; when one throws, those entered before are left again. Leaves those that were entered, in reverse.
  void inject_model();
  void eject_model() noexcept;
  bool is_injected() const { return injected_ != nullptr; }
  void pre_run() { run_callbacks(CallbackPoint::on_pre_run); }
  void cleanup() { run_callbacks(CallbackPoint::on_cleanup); }

  // --- Running.

  // A view for one job: modules become resident when they are first used, within the memory budget, and are let go with the view. It keeps base and
  // description alive and does not see later changes of this patcher.
  std::unique_ptr<ModelView> open_view() const;

  // --- Loading: what stays resident between runs. One variant of a base is loaded at a time; loading another one replaces it.

  // Enters object patches, loads all weights (`load_weights`), returns a view on them. On an error nothing stays loaded.
  std::unique_ptr<ModelView> patch_model(bool load_weights = true);
  // Makes the base's slot empty (`unpatch_weights`), else only leaves the object patches.
  void unpatch_model(bool unpatch_weights = true);
  // unpatch_model, and on_detach.
  void detach(bool unpatch_weights = true);
  void load(const LoadRequest& request = {});
  // Loads as much more as fits in `extra_memory` bytes; returns the bytes that became loaded. An error detaches and is rethrown.
  size_t partially_load(size_t extra_memory, bool force_patch_weights = false);
  // Lets go of modules, small ones first, until more than `memory_to_free` bytes are freed; returns the bytes freed.
  size_t partially_unload(size_t memory_to_free);
  // Bytes of all weights as stored, and of those that are loaded now (of whichever variant the slot holds).
  size_t model_size() const { return description_.model->size_bytes(); }
  size_t loaded_size() const { return slot_->state().loaded_size; }
  size_t offloaded_size() const { return model_size() - std::min(loaded_size(), model_size()); }
  LoadSlot& load_slot() const { return *slot_; }

  // The patched weight for `key`: in the dtype and with the rounding of the base's own; nothing is kept. The base is the backup.
  Tensor patch_weight_to_device(std::string_view key) const;
  // Every weight of the model as the slot has it loaded: patched ones of the loaded variant, the base's otherwise. Keys that start with `prefix`.
  std::map<std::string, Tensor, std::less<>> model_state_dict(std::string_view prefix = {}) const;
  // Where patches' tensors are to be. Host memory ("cpu") is where they are; another device is an Error(unsupported).
  void model_patches_to(std::string_view device) const;

  // The weight under `key` with this variant's patches, in f32. A view into the base when it is unpatched and stored in f32.
  Tensor patched_weight(std::string_view key) const { return description_.patched_weight(key); }

  const std::shared_ptr<const BaseModel>& model() const { return description_.model; }
  const Runtime& runtime() const { return *description_.runtime; }
  const Description& description() const { return description_; }
  DType compute_dtype() const { return description_.compute_dtype; }
  // Names of where weights compute and rest, as clients know them.
  std::string_view load_device() const { return "cpu"; }
  std::string_view offload_device() const { return "mapped file"; }
  // The identity of the patcher that this one was cloned from; zero for a first one.
  const Fingerprint& parent() const { return parent_; }
  const Fingerprint& identity() const { return identity_; }
  // Of everything that can change a forward: base, patches with their strengths in order, objects, options, wrappers, compute dtype.
  Fingerprint fingerprint() const { return description_.fingerprint(); }
  Fingerprint weight_fingerprint(std::string_view key) const { return description_.weight_fingerprint(key); }

 private:
  // A copy of the extras that this patcher alone has, to be changed.
  template <typename Change>
  void change_extras(Change change);
  void refresh_uuid();
  void leave(const Injection& injection) noexcept;

  Description description_;
  std::shared_ptr<LoadSlot> slot_;
  Fingerprint patches_uuid_;
  Fingerprint identity_;
  Fingerprint parent_;
  std::shared_ptr<const VariantExtras> injected_;  // whose injections were entered; null: none
};

}  // namespace veneer::variant
