// The steps of calculate_weight's general way: a copy of the base, and one record after the other on it.
#pragma once

#include <string_view>

#include "patch/calculate_weight.h"
#include "patch/patch_record.h"
#include "patch/working_weight.h"

namespace veneer::patch {

// The base's values times base_scale in the working dtype, as f32 in their own bytes.
Tensor working_copy(const Tensor& base, const CalculateOptions& options);

// Applies one record. Throws Error(invalid) naming the adapter's file and tensors when it does not fit; in PatchCompat::reference such a record is
// left out, and told in `options.skipped`.
void apply_record(WorkingWeight& weight, const PatchRecord& record, const CalculateOptions& options, std::string_view key);

}  // namespace veneer::patch
