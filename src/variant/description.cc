#include "variant/description.h"

#include "base/parallel.h"
#include "patch/calculate_weight.h"
#include "variant/model_patcher.h"
#include "variant/weight_recipe.h"

namespace veneer::variant {
namespace {

void add_records(FingerprintBuilder& builder, std::span<const patch::PatchRecord> records) {
  builder.add(static_cast<uint64_t>(records.size()));
  for (const patch::PatchRecord& record : records) patch::add_to_fingerprint(builder, record);
}

void add_patches(FingerprintBuilder& builder, const PatchMap& patches) {
  builder.add(static_cast<uint64_t>(patches.size()));
  for (const auto& [key, records] : patches) {
    builder.add(key);
    add_records(builder, *records);
  }
}

void add_extras(FingerprintBuilder& builder, const VariantExtras& extras) {
  add_to_fingerprint(builder, extras.options);
  builder.add(extras.object_patches.size());
  for (const auto& [path, object] : extras.object_patches) builder.add(path).add(object.id());
  builder.add(extras.weight_wrappers.size());
  for (const auto& [key, wrappers] : extras.weight_wrappers) {
    builder.add(key).add(wrappers.size());
    for (const WeightWrapper& wrapper : wrappers) builder.add(wrapper.id);
  }
  builder.add(extras.wrappers.size());
  for (const auto& [key, wrappers] : extras.wrappers) {
    builder.add(key).add(wrappers.size());
    for (const NetworkWrapper& wrapper : wrappers) builder.add(wrapper.id);
  }
  builder.add(extras.injections.size());
  for (const auto& [key, injections] : extras.injections) builder.add(key).add(injections.size());
  builder.add(extras.additional_models.size());
  for (const auto& [key, models] : extras.additional_models) {
    builder.add(key).add(models.size());
    for (const ModelPatcher& model : models) builder.add(model.fingerprint());
  }
}

// Values that nobody has read yet are read on all threads: an adapter's factors are some ten megabytes.
void read_values(std::initializer_list<const PatchMap*> maps) {
  std::vector<const patch::PatchValue*> unread;
  for (const PatchMap* map : maps) {
    for (const auto& [key, records] : *map) {
      for (const patch::PatchRecord& record : *records) {
        if (!record.value->has_fingerprint()) unread.push_back(record.value.get());
      }
    }
  }
  constexpr size_t kValuesPerThread = 8;
  parallel_for(unread.size(), kValuesPerThread, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) (void)unread[i]->fingerprint();
  });
}

}  // namespace

std::span<const patch::PatchRecord> Description::records_in(const PatchMap& map, std::string_view key) {
  if (map.empty()) return {};
  const auto it = map.find(key);
  if (it == map.end()) return {};
  return *it->second;
}

std::span<const WeightWrapper> Description::wrappers(std::string_view key) const {
  if (extras->weight_wrappers.empty()) return {};
  const auto it = extras->weight_wrappers.find(key);
  if (it == extras->weight_wrappers.end()) return {};
  return it->second;
}

std::vector<patch::PatchRecord> Description::all_records(std::string_view key, Hooked hooked) const {
  const auto own = records(key), hooks = hook_records(key);
  std::vector<patch::PatchRecord> all(own.begin(), own.end());
  if (hooked == Hooked::yes) all.insert(all.end(), hooks.begin(), hooks.end());
  return all;
}

Tensor Description::patched_weight(std::string_view key, DType dtype, Hooked hooked) const {
  return WeightRecipe::of(*this, key, hooked).make(dtype);
}

Shape Description::patched_shape(std::string_view key) const {
  const Shape shape = patch::patched_shape(model->weight(key).shape(), records(key));
  return patch::patched_shape(shape, hook_records(key));
}

Fingerprint Description::fingerprint() const {
  read_values({patches.get(), hook_patches.get()});
  FingerprintBuilder builder;
  builder.add("variant").add(model->identity()).add(compute_dtype);
  add_patches(builder, *patches);
  add_patches(builder, *hook_patches);
  add_extras(builder, *extras);
  return builder.finish();
}

Fingerprint Description::weight_fingerprint(std::string_view key, Hooked hooked) const {
  FingerprintBuilder builder;
  builder.add("weight").add(model->identity()).add(key).add(compute_dtype).add(runtime->compat);
  // One list: a hook's record counts as if it were added last.
  for (const patch::PatchRecord& record : records(key)) patch::add_to_fingerprint(builder, record);
  if (hooked == Hooked::yes) {
    for (const patch::PatchRecord& record : hook_records(key)) patch::add_to_fingerprint(builder, record);
  }
  for (const WeightWrapper& wrapper : wrappers(key)) builder.add("wrapper").add(wrapper.id);
  return builder.finish();
}

}  // namespace veneer::variant
