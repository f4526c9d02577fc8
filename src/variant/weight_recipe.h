// WeightRecipe: what a patched weight is computed from, and nothing else, so that whoever keeps one keeps no model and no resident set alive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "patch/patch_compat.h"
#include "patch/patch_record.h"
#include "variant/description.h"

namespace veneer::variant {

// A copy of the parts of a description that concern one weight. make() may be called from several threads at once.
struct WeightRecipe {
  std::string key;
  Tensor base;
  std::vector<patch::PatchRecord> records;  // in the order in which they act
  std::vector<WeightWrapper> wrappers;
  patch::PatchCompat compat = patch::PatchCompat::standard;

  static WeightRecipe of(const Description& description, std::string_view key, Description::Hooked hooked);

  // See Description::patched_weight().
  Tensor make(DType dtype) const;
};

}  // namespace veneer::variant
