#include "patch/finite.h"

#include <atomic>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

// The largest magnitude that rounds to a finite value.
float largest_of(DType dtype) {
  if (dtype == DType::f16) return 65519.996F;
  if (dtype == DType::bf16) return 3.3961775e38F;
  return std::numeric_limits<float>::max();
}

}  // namespace

bool all_finite_in(std::span<const float> values, DType dtype) {
  const float largest = largest_of(dtype);
  std::atomic<bool> finite{true};
  parallel_for(values.size(), size_t{1} << 16, [&](size_t begin, size_t end) {
    int bad = 0;
    for (size_t i = begin; i < end; ++i) bad |= !(std::fabs(values[i]) <= largest);  // also for NaN
    if (bad != 0) finite = false;
  });
  return finite;
}

void throw_unless_base_is_broken(const Tensor& base) {
  const Tensor values = to_dtype(base, DType::f32);
  if (all_finite_in(values.floats(), DType::f32)) throw Error(ErrorCode::corrupt, "patch: patched weight is not finite");
}

}  // namespace veneer::patch
