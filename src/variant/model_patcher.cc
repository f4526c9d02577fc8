#include "variant/model_patcher.h"

#include <atomic>
#include <cmath>

#include "veneer/error.h"

namespace veneer::variant {
namespace {

// Unique within the process.
Fingerprint fresh_id() {
  static std::atomic<uint64_t> counter{0};
  return {0x76656e6565720000ULL, counter.fetch_add(1, std::memory_order_relaxed) + 1};
}

const std::shared_ptr<const PatchMap>& no_patches() {
  static const auto kNone = std::make_shared<const PatchMap>();
  return kNone;
}

const std::shared_ptr<const VariantExtras>& no_extras() {
  static const auto kNone = std::make_shared<const VariantExtras>();
  return kNone;
}

std::shared_ptr<const Runtime> runtime_around(std::shared_ptr<residency::ResidentSet> residents) {
  Runtime runtime;
  runtime.residents = std::move(residents);
  return std::make_shared<const Runtime>(std::move(runtime));
}

void check_strengths(double strength_patch, double strength_model) {
  if (std::isfinite(strength_patch) && std::isfinite(strength_model)) return;
  throw Error(ErrorCode::invalid, "add_patches: a strength is not a finite number",
              {{"strength_patch", std::to_string(strength_patch)}, {"strength_model", std::to_string(strength_model)}});
}

void append(PatchMap& map, const std::string& key, patch::PatchRecord record) {
  if (!record.value) throw Error(ErrorCode::invalid, "add_patches: a patch is missing", {{"key", key}});
  auto& slot = map[key];
  auto records = slot ? std::make_shared<std::vector<patch::PatchRecord>>(*slot) : std::make_shared<std::vector<patch::PatchRecord>>();
  records->push_back(std::move(record));
  slot = std::move(records);
}

// Whether records of these strengths leave every weight as it is: then there is nothing to keep. Some of the reference's kinds change a weight at
// strength 0 too.
bool has_no_effect(double strength_patch, double strength_model, patch::PatchCompat compat) {
  return strength_patch == 0 && strength_model == 1 && compat == patch::PatchCompat::standard;
}

// The description's `current` patches with records for the keys that the base has; those keys go into `taken`.
std::shared_ptr<const PatchMap> extended(const Description& description, const std::shared_ptr<const PatchMap>& current,
                                         const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch,
                                         double strength_model, std::vector<std::string>& taken) {
  check_strengths(strength_patch, strength_model);
  const bool nothing = has_no_effect(strength_patch, strength_model, description.runtime->compat);
  auto out = nothing ? nullptr : std::make_shared<PatchMap>(*current);
  for (const auto& [key, value] : patches) {
    if (!description.model->has_key(key)) continue;
    if (!nothing)
      append(*out, key, {.strength_patch = strength_patch, .value = value, .strength_model = strength_model, .offset = {}, .function = {}});
    taken.push_back(key);
  }
  if (nothing) return current;
  return out;
}

}  // namespace

ModelPatcher::ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<const Runtime> runtime, DType compute_dtype)
    : slot_(std::make_shared<LoadSlot>(model)), patches_uuid_(fresh_id()), identity_(fresh_id()) {
  description_ = {std::move(model), std::move(runtime), compute_dtype, no_patches(), no_patches(), no_extras()};
}

ModelPatcher::ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<residency::ResidentSet> residents, DType compute_dtype)
    : ModelPatcher(std::move(model), runtime_around(std::move(residents)), compute_dtype) {}

ModelPatcher ModelPatcher::clone(const CloneOptions& options) const {
  ModelPatcher copy = *this;
  copy.identity_ = fresh_id();
  copy.parent_ = identity_;
  copy.injected_ = nullptr;
  std::shared_ptr<const BaseModel> model = options.model_override;
  if (model && model->architecture() != description_.model->architecture()) {
    throw Error(ErrorCode::invalid, "clone: model_override is of another architecture",
                {{"want", description_.model->architecture()}, {"got", model->architecture()}});
  }
  if (options.force_deepcopy) model = (model ? model : description_.model)->deep_copy();
  if (model) {
    copy.slot_ = std::make_shared<LoadSlot>(model);
    copy.description_.model = std::move(model);
  }
  if (options.disable_dynamic && description_.runtime->residency == ResidencyMode::dynamic) {
    Runtime classic = *description_.runtime;
    classic.residency = ResidencyMode::classic;
    copy.description_.runtime = std::make_shared<const Runtime>(std::move(classic));
    copy.slot_ = std::make_shared<LoadSlot>(copy.description_.model);
  }
  if (!description_.extras->additional_models.empty()) {
    auto extras = std::make_shared<VariantExtras>(*description_.extras);
    for (auto& [key, models] : extras->additional_models) {
      for (ModelPatcher& additional : models) additional = additional.clone();
    }
    copy.description_.extras = std::move(extras);
  }
  if (!description_.extras->callbacks.empty()) {
    ModelPatcher self = *this;  // callbacks may look at both, and change the clone
    self.run_callbacks(CallbackPoint::on_clone, &copy);
  }
  return copy;
}

bool ModelPatcher::clone_has_same_weights(const ModelPatcher& other, patch::PatchCompat compat) const {
  if (!is_clone(other)) return false;
  const Attachments& mine = description_.extras->attachments;
  const Attachments& theirs = other.description_.extras->attachments;
  const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (!std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(), same_name)) return false;
  if (compat == patch::PatchCompat::reference) {
    return patches_uuid_ == other.patches_uuid_ || (patches().empty() && other.patches().empty());
  }
  return fingerprint() == other.fingerprint();
}

std::vector<std::string> ModelPatcher::add_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch,
                                                   double strength_model) {
  std::vector<std::string> taken;
  description_.patches = extended(description_, description_.patches, patches, strength_patch, strength_model, taken);
  refresh_uuid();
  return taken;
}

std::vector<std::string> ModelPatcher::add_hook_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches,
                                                        double strength_patch, double strength_model) {
  std::vector<std::string> taken;
  description_.hook_patches = extended(description_, description_.hook_patches, patches, strength_patch, strength_model, taken);
  return taken;
}

std::vector<bool> ModelPatcher::add_patches(std::span<const PatchEntry> entries, double strength_patch, double strength_model) {
  check_strengths(strength_patch, strength_model);
  const bool nothing = has_no_effect(strength_patch, strength_model, description_.runtime->compat);
  auto out = std::make_shared<PatchMap>(*description_.patches);
  std::vector<bool> taken;
  for (const PatchEntry& entry : entries) {
    taken.push_back(description_.model->has_key(entry.key));
    if (!taken.back() || nothing) continue;
    append(*out, entry.key,
           {.strength_patch = strength_patch,
            .value = entry.value,
            .strength_model = strength_model,
            .offset = entry.offset,
            .function = entry.function});
  }
  description_.patches = std::move(out);
  refresh_uuid();
  return taken;
}

void ModelPatcher::refresh_uuid() { patches_uuid_ = fresh_id(); }

std::map<std::string, KeyPatches, std::less<>> ModelPatcher::get_key_patches(std::string_view prefix) const {
  std::map<std::string, KeyPatches, std::less<>> out;
  const auto& weights = description_.model->weights();
  for (auto it = weights.lower_bound(prefix); it != weights.end() && it->first.starts_with(prefix); ++it) {
    const auto records = description_.records(it->first);
    KeyPatches entry{it->second, {records.begin(), records.end()}};
    // A wrapper cannot be handed on as a record.
    if (!description_.wrappers(it->first).empty()) entry = {description_.patched_weight(it->first, DType::f32, Description::Hooked::no), {}};
    out.emplace(it->first, std::move(entry));
  }
  return out;
}

Tensor ModelPatcher::patch_weight_to_device(std::string_view key) const {
  return description_.patched_weight(key, description_.model->weight(key).plain_dtype());
}

std::map<std::string, Tensor, std::less<>> ModelPatcher::model_state_dict(std::string_view prefix) const {
  const auto [state, current] = slot_->snapshot();
  std::map<std::string, Tensor, std::less<>> out;
  const auto& weights = description_.model->weights();
  for (auto it = weights.lower_bound(prefix); it != weights.end() && it->first.starts_with(prefix); ++it) {
    const bool patched = current && std::binary_search(state.backup.begin(), state.backup.end(), it->first);
    out.emplace(it->first, patched ? current->description().patched_weight(it->first, it->second.plain_dtype()) : it->second);
  }
  return out;
}

void ModelPatcher::model_patches_to(std::string_view device) const {
  if (device == load_device()) return;
  throw Error(ErrorCode::unsupported, "no such device", {{"device", std::string(device)}, {"allowed", std::string(load_device())}});
}

}  // namespace veneer::variant
