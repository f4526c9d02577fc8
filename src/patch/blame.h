// Errors about patched weights that name the adapter file and the tensors at fault.
#pragma once

#include <span>
#include <string_view>

#include "patch/calculate_weight.h"
#include "patch/patch_record.h"
#include "veneer/error.h"

namespace veneer::patch {

// The error with the file, the layer and the tensors of the value that caused it, as far as they are known; what it names already stays.
Error with_origin(const Error& error, const PatchValue& value);

// For a value that, at this strength, makes a weight which is not finite in `stored`.
Error not_finite_error(const PatchValue& value, double strength, DType stored);

// Why a weight of finite numbers is not finite any more with `records` on it: the first tensor of an adapter that holds such numbers, else the first
// record that leads there. `stored`: the dtype in which values have to be finite. Names key, file and tensor. Applies each record once more.
Error not_finite_error(const Tensor& base, std::span<const PatchRecord> records, DType stored, std::string_view key, const CalculateOptions& options);

// The first tensor of the value's layer that holds a number which is not finite in f32, as an error that names it; nothing when there is none.
void require_finite_tensors(const PatchValue& value);

}  // namespace veneer::patch
