// ModelPatcher: one logical variant of a shared base model.
//
// It describes how the variant differs (patches on weights, options) and computes nothing until it is asked for a view to run. The base is never
// written: a patched weight is a new tensor, held in the resident set under the fingerprint of what it was made of. So there is nothing to undo:
// a view that is dropped, on whatever path, leaves the base as it was.
//
// A ModelPatcher is a value: copies (`clone`) share the base and the patch list until one of them changes. Const members may be called from several
// threads; changing one while another thread reads it is a race.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "patch/patch_record.h"
#include "residency/resident_set.h"
#include "variant/base_model.h"
#include "variant/model_options.h"
#include "variant/model_view.h"

namespace veneer::variant {

// Weight key -> patch records in the order they were added.
using PatchMap = std::map<std::string, std::shared_ptr<const std::vector<patch::PatchRecord>>, std::less<>>;

class ModelPatcher {
 public:
  // `compute_dtype`: f32 or bf16, what views of this variant compute in. `residents` is shared by all variants of an engine.
  ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<residency::ResidentSet> residents, DType compute_dtype);

  // A variant of its own over the same base: later changes of either do not reach the other. The clone's parent is this patcher's identity.
  ModelPatcher clone() const;

  // Whether both are variants of one base object.
  bool is_clone(const ModelPatcher& other) const { return model_ == other.model_; }
  // Whether both compute the same: by fingerprint, never by object identity.
  bool clone_has_same_weights(const ModelPatcher& other) const;

  // Appends records for the keys that the base has and returns those keys, sorted. Refreshes patches_uuid; computes nothing.
  // W' = strength_model * W + strength_patch * dW for each record in order.
  std::vector<std::string> add_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch,
                                       double strength_model = 1);

  // Changes with every add_patches, also one that took no key.
  const Fingerprint& patches_uuid() const { return patches_uuid_; }
  const PatchMap& patches() const { return *patches_; }
  // The records of one key, empty when it is not patched.
  std::span<const patch::PatchRecord> key_patches(std::string_view key) const;

  const TransformerOptions& transformer_options() const { return *options_; }
  // Replaces the options of this variant; clones made before keep theirs.
  void set_transformer_options(TransformerOptions options) { options_ = std::make_shared<const TransformerOptions>(std::move(options)); }

  const std::shared_ptr<const BaseModel>& model() const { return model_; }
  DType compute_dtype() const { return compute_dtype_; }
  size_t model_size() const { return model_->size_bytes(); }
  // The identity of the patcher that this one was cloned from; zero for a first one.
  const Fingerprint& parent() const { return parent_; }
  const Fingerprint& identity() const { return identity_; }

  // Of everything that can change a forward: base, patches with their strengths in order, options, compute dtype.
  Fingerprint fingerprint() const;
  // Of the weight under `key` as this variant sees it, in the compute dtype.
  Fingerprint weight_fingerprint(std::string_view key) const;

  // The weight under `key` with this variant's patches, in f32. A view into the base when it is unpatched and stored in f32.
  Tensor patched_weight(std::string_view key) const;

  // A view to run. It keeps the base and this variant's description alive, and releases its leases when it is dropped.
  std::unique_ptr<ModelView> patch_model() const;

 private:
  std::shared_ptr<const BaseModel> model_;
  std::shared_ptr<residency::ResidentSet> residents_;
  DType compute_dtype_;
  std::shared_ptr<const PatchMap> patches_;
  std::shared_ptr<const TransformerOptions> options_;
  Fingerprint patches_uuid_;
  Fingerprint identity_;
  Fingerprint parent_;
};

}  // namespace veneer::variant
