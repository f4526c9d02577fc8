// The last look at what a network computed: numbers that are none would become a black picture.
#pragma once

#include <string_view>

#include "tensor/tensor.h"
#include "variant/model_view.h"
#include "veneer/error.h"

namespace veneer::nodes {

// Returns `tensor` (f32). Throws Error(invalid) saying that `what` holds infinite or undefined numbers, and what usually makes them.
Tensor require_finite(Tensor tensor, std::string_view what);
// The same for what a view's network computed: the error also names the file and the tensor of the weight that may have led there, if one stands out.
Tensor require_finite(Tensor tensor, std::string_view what, const variant::ModelView& view);

// Whether every value (f32) is a finite number.
bool all_finite(const Tensor& tensor);
// The error of require_finite.
Error not_finite(std::string_view what, const variant::ModelView& view);

// The error of a view's network, with the file and the tensor of the patch that gave a weight another shape where there is one.
Error with_reshaped_weight(const Error& error, const variant::ModelView& view);

}  // namespace veneer::nodes
