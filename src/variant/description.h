// Description: how a variant differs from its base. Immutable parts behind shared pointers, so that copies cost a few counters.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "patch/patch_record.h"
#include "variant/base_model.h"
#include "variant/lifecycle.h"
#include "variant/model_object.h"
#include "variant/model_options.h"
#include "variant/runtime.h"

namespace veneer::variant {

// Records on one weight, in the order they were added.
using PatchRecords = std::shared_ptr<const std::vector<patch::PatchRecord>>;
// Weight key -> its records.
using PatchMap = std::map<std::string, PatchRecords, std::less<>>;

// Changes a patched weight, f32 -> f32 of the same shape, after its records.
using WeightWrapper = Identified<Tensor(const Tensor& weight)>;

// Everything but patches: rarely set, so it is shared as a whole.
struct VariantExtras {
  ModelOptions options;
  std::map<std::string, ModelObject> object_patches;
  std::map<std::string, std::vector<WeightWrapper>, std::less<>> weight_wrappers;
  Callbacks callbacks;
  Wrappers wrappers;
  Injections injections;
  Attachments attachments;
  std::map<std::string, std::vector<ModelPatcher>> additional_models;
};

struct Description {
  std::shared_ptr<const BaseModel> model;
  std::shared_ptr<const Runtime> runtime;
  DType compute_dtype = DType::f32;
  std::shared_ptr<const PatchMap> patches;
  // On top of them: patches whose strength is for now only (hooks). Side branches where the apply mode leaves the choice.
  std::shared_ptr<const PatchMap> hook_patches;
  std::shared_ptr<const VariantExtras> extras;

  // The records on a key; empty when it has none.
  std::span<const patch::PatchRecord> records(std::string_view key) const { return records_in(*patches, key); }
  std::span<const patch::PatchRecord> hook_records(std::string_view key) const { return records_in(*hook_patches, key); }
  std::span<const WeightWrapper> wrappers(std::string_view key) const;
  // Whether the weight under `key` is another than the base's.
  bool is_patched(std::string_view key) const { return !records(key).empty() || !hook_records(key).empty() || !wrappers(key).empty(); }

  enum class Hooked : bool { no, yes };
  // Those of the key in the order in which they act.
  std::vector<patch::PatchRecord> all_records(std::string_view key, Hooked hooked) const;
  // The weight under `key` with its patches (hook patches too, or not), in `dtype`; a view into the base when it is unpatched and stored so. fp8 is
  // rounded stochastically, seeded by the key. Throws what calculate_weight does.
  Tensor patched_weight(std::string_view key, DType dtype = DType::f32, Hooked hooked = Hooked::yes) const;
  // The shape of the patched weight.
  Shape patched_shape(std::string_view key) const;

  // Of everything that can change a forward.
  Fingerprint fingerprint() const;
  // Of the weight under `key` as this variant sees it, in the compute dtype.
  Fingerprint weight_fingerprint(std::string_view key, Hooked hooked = Hooked::yes) const;

 private:
  static std::span<const patch::PatchRecord> records_in(const PatchMap& map, std::string_view key);
};

}  // namespace veneer::variant
