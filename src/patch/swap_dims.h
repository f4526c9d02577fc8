// Swaps two neighbouring dimensions of f32 values.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace veneer::patch {

// Values laid out [outer, a, b, inner] as [outer * b, a * inner]: reshape() gives the shape that is meant. The product of the extents has to be
// the element count.
Tensor swap_dims(const Tensor& values, int64_t outer, int64_t a, int64_t b, int64_t inner);

// [rows, ...] -> [..., rows]: the transpose of a matrix whose columns are all further dimensions.
Tensor transpose(const Tensor& matrix);

}  // namespace veneer::patch
