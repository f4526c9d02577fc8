#include "patch/blame.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

#include "patch/apply_record.h"
#include "patch/finite.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"

namespace veneer::patch {
namespace {

constexpr const char* kNotFinite = "patch: patched weight is not finite";

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", value);
  return text.data();
}

Error with_if_absent(const Error& error, const char* name, const std::string& value) {
  return value.empty() || !error.find(name).empty() ? error : error.with(name, value);
}

}  // namespace

Error with_origin(const Error& error, const PatchValue& value) {
  const PatchOrigin* origin = value.origin();
  if (origin == nullptr) return error;
  std::string tensors;
  for (const auto& [name, tensor] : origin->tensors) tensors += (tensors.empty() ? "" : ", ") + name;
  return with_if_absent(with_if_absent(error, "file", origin->file), "tensor", tensors);
}

void require_finite_tensors(const PatchValue& value) {
  const PatchOrigin* origin = value.origin();
  if (origin == nullptr) return;
  for (const auto& [name, tensor] : origin->tensors) {
    const Tensor values = to_dtype(tensor, DType::f32);
    size_t at = 0;
    while (at < values.floats().size() && std::isfinite(values.floats()[at])) ++at;
    if (at == values.floats().size()) continue;
    const float bad = values.floats()[at];
    throw Error(ErrorCode::corrupt, "patch: a tensor of the adapter holds a number that is not finite",
                {{"file", origin->file},
                 {"tensor", name},
                 {"element", std::to_string(at)},
                 {"value", std::isnan(bad) ? "nan"
                           : bad > 0       ? "inf"
                                           : "-inf"},
                 {"allowed", "numbers that are finite in f32"}});
  }
}

Error not_finite_error(const PatchValue& value, double strength, DType stored) {
  return with_origin(Error(ErrorCode::corrupt, kNotFinite), value)
      .with("kind", std::string(value.kind()))
      .with("strength", number(strength))
      .with("allowed", "values and a strength with which the weight stays finite in " + std::string(to_string(stored)));
}

Error not_finite_error(const Tensor& base, std::span<const PatchRecord> records, DType stored, std::string_view key,
                       const CalculateOptions& options) {
  Error plain = with_if_absent(Error(ErrorCode::corrupt, kNotFinite), "key", std::string(key));
  try {
    for (const PatchRecord& record : records) {
      if (record.strength_patch != 0) require_finite_tensors(*record.value);
    }
    WorkingWeight weight(working_copy(base, options), options.working, options.compat, false);
    for (const PatchRecord& last : records) {
      apply_record(weight, last, options, key);
      if (all_finite_in(weight.values().floats(), stored)) continue;
      // What is inside of a merge has records of its own, and says which of them it is.
      if (last.value->origin() == nullptr && !last.offset) {
        WorkingWeight alone(Tensor::zeros(base.shape(), DType::f32), DType::f32, PatchCompat::standard, false);
        last.value->apply(alone, last.strength_patch, nullptr);
      }
      const Error error = with_if_absent(not_finite_error(*last.value, last.strength_patch, stored), "key", std::string(key));
      return last.strength_model == 1 ? error : error.with("strength of the model", number(last.strength_model));
    }
  } catch (const Error& error) {
    return with_if_absent(error, "key", std::string(key));
  }
  return plain;
}

}  // namespace veneer::patch
