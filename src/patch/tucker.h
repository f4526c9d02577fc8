// A convolution's weight from its Tucker decomposition: a small core and a matrix per channel axis.
#pragma once

#include "patch/working_weight.h"
#include "tensor/tensor.h"

namespace veneer::patch {

// core [i, j, kh, kw], a [i, out], b [j, in] -> [out, in * kh * kw], element (p, r, k) = sum over i, j of core[i, j, k] a[i, p] b[j, r].
// Summed over j first. All f32, in the working dtype of `weight`.
Tensor tucker(const WorkingWeight& weight, const Tensor& core, const Tensor& a, const Tensor& b);

// Throws Error(corrupt) unless the three fit each other.
void check_tucker(const Tensor& core, const Tensor& a, const Tensor& b, std::string_view kind);

}  // namespace veneer::patch
