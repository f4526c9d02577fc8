#include "variant/model_patcher.h"

#include <atomic>

#include "patch/calculate_weight.h"
#include "tensor/convert.h"
#include "variant/variant_view.h"

namespace veneer::variant {
namespace {

const std::shared_ptr<const PatchMap>& no_patches() {
  static const auto kNone = std::make_shared<const PatchMap>();
  return kNone;
}

const std::shared_ptr<const TransformerOptions>& no_options() {
  static const auto kNone = std::make_shared<const TransformerOptions>();
  return kNone;
}

// Unique within the process.
Fingerprint fresh_id(std::string_view what) {
  static std::atomic<uint64_t> counter{0};
  return FingerprintBuilder().add(what).add(counter.fetch_add(1)).finish();
}

template <typename List>
void add_list(FingerprintBuilder& builder, const List& list) {
  builder.add(static_cast<uint64_t>(list.size()));
  for (const auto& entry : list) builder.add(entry.id);
}

template <typename Map>
void add_map(FingerprintBuilder& builder, const Map& map) {
  builder.add(static_cast<uint64_t>(map.size()));
  for (const auto& [position, entry] : map) {
    builder.add(position.block).add(position.block_index).add(position.transformer_index).add(entry.id);
  }
}

void add_options(FingerprintBuilder& builder, const TransformerOptions& options) {
  add_list(builder, options.attn1_patch);
  add_list(builder, options.attn2_patch);
  add_list(builder, options.attn1_output_patch);
  add_list(builder, options.attn2_output_patch);
  add_map(builder, options.attn1_replace);
  add_map(builder, options.attn2_replace);
  add_list(builder, options.input_block_patch);
  add_list(builder, options.input_block_patch_after_skip);
  add_list(builder, options.output_block_patch);
  add_list(builder, options.middle_patch);
  add_list(builder, options.emb_patch);
}

}  // namespace

ModelPatcher::ModelPatcher(std::shared_ptr<const BaseModel> model, std::shared_ptr<residency::ResidentSet> residents, DType compute_dtype)
    : model_(std::move(model)),
      residents_(std::move(residents)),
      compute_dtype_(compute_dtype),
      patches_(no_patches()),
      options_(no_options()),
      patches_uuid_(fresh_id("patches")),
      identity_(fresh_id("patcher")) {}

ModelPatcher ModelPatcher::clone() const {
  ModelPatcher copy = *this;
  copy.identity_ = fresh_id("patcher");
  copy.parent_ = identity_;
  return copy;
}

bool ModelPatcher::clone_has_same_weights(const ModelPatcher& other) const { return is_clone(other) && fingerprint() == other.fingerprint(); }

std::vector<std::string> ModelPatcher::add_patches(const std::map<std::string, patch::PatchValuePtr, std::less<>>& patches, double strength_patch,
                                                   double strength_model) {
  auto extended = std::make_shared<PatchMap>(*patches_);
  std::vector<std::string> taken;
  for (const auto& [key, value] : patches) {
    if (!model_->has_key(key)) continue;
    auto& slot = (*extended)[key];
    auto records = slot ? std::make_shared<std::vector<patch::PatchRecord>>(*slot) : std::make_shared<std::vector<patch::PatchRecord>>();
    patch::PatchRecord record;
    record.strength_patch = strength_patch;
    record.value = value;
    record.strength_model = strength_model;
    records->push_back(std::move(record));
    slot = std::move(records);
    taken.push_back(key);
  }
  patches_ = std::move(extended);
  patches_uuid_ = fresh_id("patches");
  return taken;
}

std::span<const patch::PatchRecord> ModelPatcher::key_patches(std::string_view key) const {
  const auto it = patches_->find(key);
  if (it == patches_->end()) return {};
  return *it->second;
}

Fingerprint ModelPatcher::fingerprint() const {
  FingerprintBuilder builder;
  builder.add("variant").add(model_->identity()).add(compute_dtype_);
  builder.add(static_cast<uint64_t>(patches_->size()));
  for (const auto& [key, records] : *patches_) {
    builder.add(key).add(static_cast<uint64_t>(records->size()));
    for (const patch::PatchRecord& record : *records) patch::add_to_fingerprint(builder, record);
  }
  add_options(builder, *options_);
  return builder.finish();
}

Fingerprint ModelPatcher::weight_fingerprint(std::string_view key) const {
  FingerprintBuilder builder;
  builder.add("weight").add(model_->identity()).add(key).add(compute_dtype_);
  for (const patch::PatchRecord& record : key_patches(key)) patch::add_to_fingerprint(builder, record);
  return builder.finish();
}

Tensor ModelPatcher::patched_weight(std::string_view key) const {
  const Tensor& base = model_->weight(key);
  const std::span<const patch::PatchRecord> records = key_patches(key);
  if (records.empty()) return to_dtype(base, DType::f32);
  patch::CalculateOptions options;
  options.result = DType::f32;
  return patch::calculate_weight(base, records, key, options);
}

std::unique_ptr<ModelView> ModelPatcher::patch_model() const { return std::make_unique<VariantView>(*this, residents_); }

}  // namespace veneer::variant
