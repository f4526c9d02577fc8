// How much memory a layer's weights will take once they are packed, before that is known.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace veneer::compute {

// Bytes of a weight [out, in, ...] in the layouts that oneDNN prefers: those of matrix products fill `out` up to blocks of 64 and `in` to blocks of
// 64 bytes, those of convolutions fill `out` up to blocks of 16. An estimate, exact or a little high on the CPUs that were tried. A weight of another
// rank counts as it is. `kept`: the dtype in which they stay (see WeightStorage).
inline size_t packed_size_estimate(const Shape& weight, DType compute_dtype, DType kept) {
  const size_t element = size_of(kept);
  const auto elements = static_cast<size_t>(weight.num_elements());
  if (weight.rank() < 2 || elements == 0) return elements * element;
  const auto filled = [](int64_t extent, size_t block) { return (static_cast<size_t>(extent) + block - 1) / block * block; };
  const auto taps = static_cast<size_t>(weight.num_elements_from(2));
  if (taps > 1) return elements / static_cast<size_t>(weight[0]) * filled(weight[0], 16) * element;
  const size_t narrow = weight[0] <= 16 ? 16 : 32;
  return filled(weight[0], weight[0] <= 32 ? narrow : 64) * filled(weight[1], 64 / size_of(compute_dtype)) * element;
}

// Of a convolution [out, in, 3, 3] that reads doubled pictures: four kernels of 2x2, sums of its own, in the compute dtype.
inline size_t enlarging_size_estimate(const Shape& weight, DType compute_dtype) {
  return 4 * packed_size_estimate({weight[0], weight[1], 2, 2}, compute_dtype, compute_dtype);
}

}  // namespace veneer::compute
