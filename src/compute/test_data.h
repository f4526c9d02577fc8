// Inputs and comparisons for the tests of this room.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "tensor/convert.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// Values of a repeatable sequence, roughly normal with standard deviation `spread` about `centre`.
inline Tensor random_tensor(const Shape& shape, uint32_t seed, float spread = 1.0F, float centre = 0.0F) {
  Tensor tensor = Tensor::empty(shape, DType::f32);
  uint64_t state = seed * 2654435761ULL + 88172645463325252ULL;
  const auto uniform = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
  };
  for (float& value : tensor.mutable_floats()) value = centre + spread * 1.7320508F * (uniform() + uniform() + uniform() + uniform() - 2.0F);
  return tensor;
}

// The f32 values that a tensor has after a trip through `dtype`.
inline Tensor rounded(const Tensor& tensor, DType dtype) { return to_dtype(to_dtype(tensor, dtype), DType::f32); }

// Largest |a - b| / max(1, |b|); infinite where one is not a number.
inline double max_error(const Tensor& got, const Tensor& want) {
  if (got.shape() != want.shape()) return INFINITY;
  const Tensor a = to_dtype(got, DType::f32), b = to_dtype(want, DType::f32);
  double worst = 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    const double x = static_cast<double>(a.data<float>()[i]), y = static_cast<double>(b.data<float>()[i]);
    const double error = std::abs(x - y) / std::max(1.0, std::abs(y));
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

}  // namespace veneer::compute
