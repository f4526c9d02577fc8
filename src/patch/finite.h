// Guard against patches that break a weight.
#pragma once

#include <span>

#include "tensor/tensor.h"

namespace veneer::patch {

// Whether every value stays finite when it is stored in `dtype`. fp8 results are clamped, so every finite value does.
bool all_finite_in(std::span<const float> values, DType dtype);

// Throws Error(corrupt) unless the base had values that are not finite itself.
void throw_unless_base_is_broken(const Tensor& base);

}  // namespace veneer::patch
