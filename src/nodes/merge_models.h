// Merges of two variants. Nothing is computed and no weight is read: the result is a description, as every variant is.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "variant/model_patcher.h"

namespace veneer::nodes {

// W = first * W1 + second * W2, where W1 and W2 are the weights with the patches that the variants have.
struct MergeWeights {
  double first = 1;
  double second = 0;

  // `ratio` of the first, the rest of the second.
  static MergeWeights mix(double ratio) { return {ratio, 1 - ratio}; }
  static MergeWeights sum() { return {1, 1}; }
  // The difference, times `multiplier`.
  static MergeWeights difference(double multiplier) { return {multiplier, -multiplier}; }
};

using MergeWeightsOfKey = std::function<MergeWeights(std::string_view key)>;

// A clone of `first` in which each weight whose key begins with `prefix` is merged with that of `second`. Keys that only one of the two has stay as
// `first` has them. Throws Error(invalid) naming key, want and got when a weight's shapes differ, and with both architectures when there is no key
// in common.
variant::ModelPatcher merge_variants(const variant::ModelPatcher& first, const variant::ModelPatcher& second, std::string_view prefix,
                                     const MergeWeightsOfKey& weights);

// Diffusion models: keys under "diffusion_model.".
variant::ModelPatcher merge_unets(const variant::ModelPatcher& first, const variant::ModelPatcher& second, const MergeWeights& weights);

// Prefix of names without "diffusion_model." -> how much of the first model. The longest prefix of a name counts; a name that none fits takes the
// first entry. `ratios` is not empty.
using BlockRatios = std::span<const std::pair<std::string, double>>;
variant::ModelPatcher merge_unet_blocks(const variant::ModelPatcher& first, const variant::ModelPatcher& second, BlockRatios ratios);

// Text encoders: all keys but those that are no trained weights.
variant::ModelPatcher merge_text_encoders(const variant::ModelPatcher& first, const variant::ModelPatcher& second, const MergeWeights& weights);

}  // namespace veneer::nodes
