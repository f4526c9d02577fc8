#include "compute/check.h"

#include <string>

#include "veneer/error.h"

namespace veneer::compute {
namespace {

Error invalid(std::string_view op, std::string_view rule, Error::Context context) {
  return Error(ErrorCode::invalid, std::string(op) + ": " + std::string(rule), std::move(context));
}

}  // namespace

void check_activation(const Context& context, const Tensor& x, std::string_view op) {
  if (context.dtype != DType::f32 && context.dtype != DType::bf16) {
    throw invalid(op, "the context's dtype is neither f32 nor bf16", {{"dtype", std::string(to_string(context.dtype))}});
  }
  if (!x.defined() || x.rank() < 1) throw invalid(op, "an input is missing or has no dimension", {});
  if (x.dtype() != context.dtype) {
    throw invalid(op, "an input is not of the context's dtype",
                  {{"want", std::string(to_string(context.dtype))}, {"got", std::string(to_string(x.dtype()))}});
  }
  if (!x.aligned()) throw invalid(op, "an input is not aligned", {{"shape", x.shape().to_string()}});
}

void check_same_shape(const Tensor& a, const Tensor& b, std::string_view op) {
  if (a.shape() != b.shape()) throw invalid(op, "shapes differ", {{"a", a.shape().to_string()}, {"b", b.shape().to_string()}});
}

void check_parameter(const Tensor& parameter, int64_t size, std::string_view op) {
  if (!parameter.defined() || parameter.dtype() != DType::f32 || !parameter.aligned() || parameter.num_elements() != size) {
    throw invalid(op, "a parameter does not fit the input", {{"want", std::to_string(size) + " of f32"}, {"got", parameter.shape().to_string()}});
  }
}

void check_that(bool holds, std::string_view op, std::string_view rule, const Shape& shape) {
  if (!holds) throw invalid(op, rule, {{"shape", shape.to_string()}});
}

}  // namespace veneer::compute
