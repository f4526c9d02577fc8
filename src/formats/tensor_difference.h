// How far two tensors are apart.
#pragma once

#include "formats/model_file.h"

namespace veneer::formats {

struct TensorDifference {
  double largest_absolute = 0;
  double largest_relative = 0;  // |a - b| / max(|a|, |b|)
};

// Of values, so that dtypes, scales and blocks may differ; equal infinities and two NaN are no difference, one that is alone an infinite one. The
// same shapes are required. Reads both a piece at a time, in parallel, and lets go of the pages of `a_file` and `b_file` that were read.
TensorDifference tensor_difference(const ModelFile& a_file, const Tensor& a, const ModelFile& b_file, const Tensor& b);

}  // namespace veneer::formats
