#include "patch/branch_factors.h"

#include <cmath>
#include <string>

#include "patch/blame.h"
#include "patch/finite.h"
#include "patch/working_weight.h"
#include "tensor/convert.h"
#include "tensor/largest_magnitude.h"

namespace veneer::patch {
namespace {

// Products below this leave every weight finite, whatever a strength of a few hundred makes of them.
constexpr double kSurelyFinite = 1e30;

float magnitude_of(const Tensor& factor, const PatchValue& value, DType dtype) {
  const float magnitude = largest_magnitude(factor);
  if (is_finite_in(magnitude, dtype)) return magnitude;
  require_finite_tensors(value);
  throw with_origin(Error(ErrorCode::corrupt, "patch: a factor of a low-rank product is not finite", {{"allowed", std::string(to_string(dtype))}}),
                    value);
}

// The patched weight is looked at only where the factors could make one that is not finite.
void require_finite_product(const Tensor& base, const LowRank& factors, const PatchValue& value, double scale) {
  WorkingWeight weight(to_dtype(base, DType::f32).clone(), DType::f32, PatchCompat::standard, false);
  value.apply(weight, factors.scale == 0 ? scale : scale / factors.scale, nullptr);
  if (all_finite_in(weight.values().floats(), DType::f32) || !is_finite(base)) return;
  throw not_finite_error(value, scale / factors.scale, DType::f32);
}

}  // namespace

LowRank branch_factors(const Tensor& base, const PatchValue& value, double scale, DType dtype) {
  try {
    value.check(base.shape());
  } catch (const Error& error) {
    throw with_origin(error, value);
  }
  LowRank factors = *value.low_rank();
  for (Tensor* factor : {&factors.up, &factors.down}) {
    if (!is_floating(factor->dtype())) *factor = to_dtype(*factor, DType::f32);
  }
  const double up = magnitude_of(factors.up, value, dtype), down = magnitude_of(factors.down, value, dtype);
  if (up * down * static_cast<double>(factors.down.dim(0)) * std::abs(scale) > kSurelyFinite) {
    require_finite_product(base, factors, value, scale);
  }
  return factors;
}

}  // namespace veneer::patch
