// Guard against patches that break a weight.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace veneer::patch {

// Whether every value stays finite when it is stored in `dtype`. fp8 results are clamped, so every finite value does.
bool all_finite_in(std::span<const float> values, DType dtype);

// Whether a magnitude stays finite when it is stored in `dtype`; false for NaN.
bool is_finite_in(float magnitude, DType dtype);

// Whether every value of a base weight is finite. Some checkpoints have broken ones, which stay as they are.
bool is_finite(const Tensor& base);

}  // namespace veneer::patch
