#include "patch/calculate_weight.h"

#include <cmath>
#include <utility>

#include "patch/apply_record.h"
#include "patch/blame.h"
#include "patch/finite.h"
#include "patch/stream_weight.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "tensor/stochastic_rounding.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

bool is_fp8(DType dtype) { return dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2; }

void check_options(const Tensor& base, DType result, const CalculateOptions& options) {
  if (options.working != DType::f32 && options.working != DType::f16 && options.working != DType::bf16) {
    throw Error(ErrorCode::unsupported, "patch: weights are patched in f32, f16 or bf16", {{"working", std::string(to_string(options.working))}});
  }
  if (!is_floating(base.dtype()) || !is_floating(result) || is_quantised(result)) {
    throw Error(ErrorCode::unsupported, "patch: weight is not floating", {{"dtype", std::string(to_string(base.dtype()))}});
  }
  if (!(std::isfinite(options.base_scale) && options.base_scale > 0)) {
    throw Error(ErrorCode::invalid, "patch: base_scale has to be positive", {{"base_scale", std::to_string(options.base_scale)}});
  }
}

Tensor store(const Tensor& values, DType dtype, float own_scale, std::string_view key, const CalculateOptions& options) {
  Allocator& allocator = options.allocator != nullptr ? *options.allocator : system_allocator();
  if (!is_fp8(dtype)) return to_dtype(values, dtype, allocator);
  Tensor scaled = values;
  if (const float scale = options.base_scale * own_scale; scale != 1) {
    scaled = values.clone();
    for (float& v : scaled.mutable_floats()) v /= scale;
  }
  const Tensor rounded = stochastic_round(scaled, dtype, options.rounding_seed.value_or(string_to_seed(key)), allocator);
  return own_scale != 1 ? rounded.with_scale(own_scale) : rounded;
}

}  // namespace

Tensor calculate_weight(const Tensor& base, std::span<const PatchRecord> records, std::string_view key, const CalculateOptions& options) {
  const DType dtype = options.result.value_or(base.plain_dtype());
  try {
    check_options(base, dtype, options);
    if (records.empty() && dtype == base.dtype() && options.working == DType::f32) return base.clone();
    for (const PatchRecord& record : records) check_record(record);
    if (std::optional<Tensor> streamed = stream_weight(base, records, dtype, key, options)) return std::move(*streamed);
    WorkingWeight weight(working_copy(base, options), options.working, options.compat, false);
    for (const PatchRecord& record : records) apply_record(weight, record, options, key);
    const bool check = options.compat == PatchCompat::standard && options.check_finite;
    if (check && !all_finite_in(weight.values().floats(), dtype) && is_finite(base)) throw not_finite_error(base, records, dtype, key, options);
    return store(weight.values(), dtype, base.scale(), key, options);
  } catch (const Error& error) {
    throw error.find("key").empty() && !key.empty() ? error.with("key", std::string(key)) : error;
  }
}

Shape patched_shape(const Shape& base, std::span<const PatchRecord> records) {
  Shape shape = base;
  for (const PatchRecord& record : records) {
    if (!record.offset && record.strength_patch != 0) shape = record.value->shape_after(shape);
  }
  return shape;
}

}  // namespace veneer::patch
