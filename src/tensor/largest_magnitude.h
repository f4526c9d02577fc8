// The value of a tensor that is farthest from zero.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/tensor.h"

namespace veneer {

// The largest magnitude; NaN when a value is NaN, 0 when there is none. On several threads where that pays.
float largest_magnitude(std::span<const float> values);
// Of rows of `columns` values, `stride` apart, on the calling thread.
float largest_magnitude(const float* values, size_t stride, size_t rows, size_t columns);
// Of a stored tensor of a floating dtype.
float largest_magnitude(const Tensor& tensor);

}  // namespace veneer
