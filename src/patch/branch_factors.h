// A low-rank patch as a branch beside a weight computes with it.
#pragma once

#include "patch/patch_value.h"

namespace veneer::patch {

// The factors of `value`, which has some, in a floating dtype: integers and bool become f32. `base`: the weight that the branch runs beside; `scale`:
// what the product is multiplied by; `dtype`: what the branch computes in. Throws what calculate_weight would for the patch on that weight: the shape
// has to fit, and factors and patched weight have to be finite. The error names the adapter's file and tensor.
LowRank branch_factors(const Tensor& base, const PatchValue& value, double scale, DType dtype);

}  // namespace veneer::patch
