#include "patch/swap_dims.h"

#include <algorithm>

#include "base/parallel.h"
#include "veneer/error.h"

namespace veneer::patch {

Tensor swap_dims(const Tensor& values, int64_t outer, int64_t a, int64_t b, int64_t inner) {
  if (a == 1 || b == 1) return values.reshape({outer * b, a * inner});  // the order stays
  Tensor result = Tensor::empty({outer * b, a * inner}, DType::f32);
  if (result.num_elements() != values.num_elements()) {
    throw Error(ErrorCode::internal, "patch: transposed extents do not fit", {{"shape", values.shape().to_string()}});
  }
  const float* from = values.data<float>();
  float* to = result.mutable_data<float>();
  const auto rows = static_cast<size_t>(outer * b);
  const size_t grain = std::max<size_t>(1, (size_t{1} << 15) / static_cast<size_t>(std::max<int64_t>(1, a * inner)));
  parallel_for(rows, grain, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto o = static_cast<int64_t>(row) / b, j = static_cast<int64_t>(row) % b;
      for (int64_t i = 0; i < a; ++i) {
        std::copy_n(from + ((o * a + i) * b + j) * inner, inner, to + (static_cast<int64_t>(row) * a + i) * inner);
      }
    }
  });
  return result;
}

Tensor transpose(const Tensor& matrix) { return swap_dims(matrix, 1, matrix.dim(0), matrix.shape().num_elements_from(1), 1); }

}  // namespace veneer::patch
