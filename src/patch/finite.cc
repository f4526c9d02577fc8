#include "patch/finite.h"

#include <limits>

#include "tensor/largest_magnitude.h"

namespace veneer::patch {
namespace {

// The largest magnitude that rounds to a finite value.
float largest_of(DType dtype) {
  if (dtype == DType::f16) return 65519.996F;
  if (dtype == DType::bf16) return 3.3961773e38F;  // the float below the tie that rounds to infinity
  return std::numeric_limits<float>::max();
}

}  // namespace

bool all_finite_in(std::span<const float> values, DType dtype) { return is_finite_in(largest_magnitude(values), dtype); }

bool is_finite_in(float magnitude, DType dtype) { return magnitude <= largest_of(dtype); }

bool is_finite(const Tensor& base) { return is_finite_in(largest_magnitude(base), DType::f32); }

}  // namespace veneer::patch
