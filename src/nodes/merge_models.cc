#include "nodes/merge_models.h"

#include <map>
#include <utility>

#include "patch/kinds/values.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

constexpr std::string_view kUnet = "diffusion_model.";

// The identity of the base stands for the weight's bytes: no gigabytes are hashed, and merges with one base are known as equal. A weight that a
// function has changed is another one than the base's.
Fingerprint identity_of(const variant::ModelPatcher& model, const std::string& key) {
  FingerprintBuilder builder;
  builder.add("weight of a model").add(model.model()->identity()).add(key);
  if (!model.description().wrappers(key).empty()) builder.add(model.weight_fingerprint(key));
  return builder.finish();
}

void check_shapes(const std::string& key, const Shape& want, const Shape& got) {
  if (want == got) return;
  throw Error(ErrorCode::invalid, "merge: a weight has another shape in the other model",
              {{"key", key}, {"want", want.to_string()}, {"got", got.to_string()}});
}

}  // namespace

variant::ModelPatcher merge_variants(const variant::ModelPatcher& first, const variant::ModelPatcher& second, std::string_view prefix,
                                     const MergeWeightsOfKey& weights) {
  // Keys with equal weights go together: adding patches is one step for a whole list.
  std::map<std::pair<double, double>, std::map<std::string, patch::PatchValuePtr, std::less<>>> groups;
  bool any = false;
  const variant::BaseModel& base = *first.model();
  for (auto& [key, other] : second.get_key_patches(prefix)) {
    if (!base.has_key(key)) continue;
    any = true;
    check_shapes(key, first.description().patched_shape(key), second.description().patched_shape(key));
    const MergeWeights merged = weights(key);
    // All of the first and none of the second is the first, to the bit.
    if (merged.first == 1 && merged.second == 0) continue;
    groups[{merged.first, merged.second}].emplace(
        key, patch::make_nested(std::move(other.weight), std::nullopt, std::move(other.records), identity_of(second, key)));
  }
  if (!any) {
    throw Error(ErrorCode::invalid, "merge: the models have no weight in common",
                {{"want", base.architecture()}, {"got", second.model()->architecture()}});
  }
  variant::ModelPatcher merged = first.clone();
  for (const auto& [strengths, patches] : groups) merged.add_patches(patches, strengths.second, strengths.first);
  return merged;
}

variant::ModelPatcher merge_unets(const variant::ModelPatcher& first, const variant::ModelPatcher& second, const MergeWeights& weights) {
  return merge_variants(first, second, kUnet, [&](std::string_view) { return weights; });
}

variant::ModelPatcher merge_unet_blocks(const variant::ModelPatcher& first, const variant::ModelPatcher& second, BlockRatios ratios) {
  return merge_variants(first, second, kUnet, [&](std::string_view key) {
    const std::string_view name = key.substr(kUnet.size());
    double ratio = ratios.front().second;
    size_t longest = 0;
    for (const auto& [prefix, ratio_of_block] : ratios) {
      if (prefix.size() <= longest || !name.starts_with(prefix)) continue;
      longest = prefix.size();
      ratio = ratio_of_block;
    }
    return MergeWeights::mix(ratio);
  });
}

variant::ModelPatcher merge_text_encoders(const variant::ModelPatcher& first, const variant::ModelPatcher& second, const MergeWeights& weights) {
  return merge_variants(first, second, "", [&](std::string_view key) {
    const bool trained = !key.ends_with(".position_ids") && !key.ends_with(".logit_scale");
    return trained ? weights : MergeWeights{};
  });
}

}  // namespace veneer::nodes
