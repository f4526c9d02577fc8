// What every op asks of its arguments.
#pragma once

#include <string_view>

#include "compute/context.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// Defined, at least one dimension, of the context's dtype (f32 or bf16) and aligned. Throws Error(invalid) naming `op`.
void check_activation(const Context& context, const Tensor& x, std::string_view op);
void check_same_shape(const Tensor& a, const Tensor& b, std::string_view op);
// An f32 parameter of `size` elements.
void check_parameter(const Tensor& parameter, int64_t size, std::string_view op);
// A rule with its text.
void check_that(bool holds, std::string_view op, std::string_view rule, const Shape& shape);

}  // namespace veneer::compute
