// The last look at what a network computed: numbers that are none would become a black picture.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace veneer::nodes {

// Returns `tensor` (f32). Throws Error(invalid) saying that `what` holds infinite or undefined numbers, and what usually makes them.
Tensor require_finite(Tensor tensor, std::string_view what);

}  // namespace veneer::nodes
