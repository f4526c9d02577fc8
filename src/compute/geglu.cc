// GEGLU: x[:D] * gelu(x[D:]) of every row in one pass. Shazeer, "GLU Variants Improve Transformer" (2020).
#include "compute/ops.h"
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/geglu.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

template <typename T>
void geglu_rows(const T* x, size_t rows, size_t channels, T* y) {
  for (size_t r = 0; r < rows; ++r, x += 2 * channels, y += channels) {
    const T* gate = x + channels;
    for_each_vector(channels, [&](auto d, size_t i) HWY_ATTR { store(d, hn::Mul(load(d, x + i), gelu_of(d, load(d, gate + i))), y + i); });
  }
}

void geglu_f32(const float* x, size_t rows, size_t channels, float* y) { geglu_rows(x, rows, channels, y); }
void geglu_bf16(const uint16_t* x, size_t rows, size_t channels, uint16_t* y) { geglu_rows(x, rows, channels, y); }

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/parallel.h"
#include "compute/check.h"
#include "compute/op_span.h"

namespace veneer::compute {

HWY_EXPORT(geglu_f32);
HWY_EXPORT(geglu_bf16);

Tensor geglu(Context& context, const Tensor& x) {
  check_activation(context, x, "geglu");
  const int last = x.rank() - 1;
  check_that(x.dim(last) % 2 == 0, "geglu", "the last dimension is odd", x.shape());
  const ProfileSpan span = moving_span(context, "geglu", x, 1.5);
  Tensor y = Tensor::empty(x.shape().with(last, x.dim(last) / 2), context.dtype, context.scratch);
  if (y.num_elements() == 0) return y;
  const auto c = static_cast<size_t>(y.dim(last));
  parallel_for(static_cast<size_t>(y.num_elements()) / c, 1 + 16384 / c, [&](size_t begin, size_t end) {
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(geglu_f32)(x.data<float>() + begin * 2 * c, end - begin, c, y.mutable_data<float>() + begin * c);
    } else {
      HWY_DYNAMIC_DISPATCH(geglu_bf16)(x.data<uint16_t>() + begin * 2 * c, end - begin, c, y.mutable_data<uint16_t>() + begin * c);
    }
  });
  return y;
}

}  // namespace veneer::compute
#endif
