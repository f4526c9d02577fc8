#include "patch/apply_record.h"

#include "patch/blame.h"
#include "patch/slice.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

void apply_to(WorkingWeight& weight, const PatchRecord& record, const CalculateOptions& options, std::string_view key) {
  if (record.strength_model != 1) weight.scale(record.strength_model);
  const WeightFunction* function = record.function ? &*record.function : nullptr;
  if (options.compat == PatchCompat::reference) {
    try {
      record.value->apply(weight, record.strength_patch, function);
    } catch (const Error& error) {
      if (options.skipped != nullptr) {
        const Error whole = with_origin(error.with("kind", std::string(record.value->kind())), *record.value);
        options.skipped->push_back(whole.with("key", std::string(key)).what());
      }
    }
    return;
  }
  try {
    record.value->check(weight.shape());
    // Strength 0 is the base to the bit, whatever infinities or functions a file brings.
    if (record.strength_patch == 0) return;
    record.value->apply(weight, record.strength_patch, function);
  } catch (const Error& error) {
    throw with_origin(error, *record.value);
  }
}

}  // namespace

Tensor working_copy(const Tensor& base, const CalculateOptions& options) {
  Tensor values = Tensor::empty(base.shape(), DType::f32);
  copy_to_f32(base, values.mutable_floats());
  if (options.base_scale != 1) {
    for (float& v : values.mutable_floats()) v *= options.base_scale;
  }
  if (options.working != base.dtype()) round_in_place(values.mutable_floats(), options.working);
  return values;
}

void apply_record(WorkingWeight& weight, const PatchRecord& record, const CalculateOptions& options, std::string_view key) {
  if (!record.offset) {
    apply_to(weight, record, options, key);
    return;
  }
  WorkingWeight part(copy_slice(weight.values(), *record.offset), weight.dtype(), options.compat, true);
  apply_to(part, record, options, key);
  Tensor whole = weight.values();
  paste_slice(whole, *record.offset, part.values());
}

}  // namespace veneer::patch
