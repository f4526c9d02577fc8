#include "variant/weight_recipe.h"

#include "patch/calculate_weight.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::variant {
namespace {

// A wrapper's result with the shape rule checked.
Tensor apply_wrapper(const WeightWrapper& wrapper, const Tensor& weight, const std::string& key) {
  Tensor out = wrapper.fn(weight);
  if (!out.defined() || out.dtype() != DType::f32 || out.shape() != weight.shape()) {
    throw Error(ErrorCode::invalid, "variant: a weight wrapper returned another shape or dtype",
                {{"key", key}, {"want", weight.shape().to_string()}, {"got", out.defined() ? out.shape().to_string() : "nothing"}});
  }
  return out;
}

}  // namespace

WeightRecipe WeightRecipe::of(const Description& description, std::string_view key, Description::Hooked hooked) {
  const auto around = description.wrappers(key);
  return {.key = std::string(key),
          .base = description.model->weight(key),
          .records = description.all_records(key, hooked),
          .wrappers = {around.begin(), around.end()},
          .compat = description.runtime->compat};
}

Tensor WeightRecipe::make(DType dtype) const {
  if (records.empty() && wrappers.empty()) return to_dtype(base, dtype);
  patch::CalculateOptions options;
  options.result = wrappers.empty() ? dtype : DType::f32;
  options.compat = compat;
  Tensor weight = records.empty() ? to_dtype(base, DType::f32) : patch::calculate_weight(base, records, key, options);
  for (const WeightWrapper& wrapper : wrappers) weight = apply_wrapper(wrapper, weight, key);
  return to_dtype(weight, dtype);
}

}  // namespace veneer::variant
