// LayerNorm: three passes over a row that stays in the first cache.
#include <cmath>

#include "compute/ops.h"
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/layer_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

// Sum over i of term(d, i), in an order that depends on `count` alone. Four sums at once hide the latency of the additions.
template <class Term>
HWY_INLINE float sum_of(size_t count, Term&& term) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
  size_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n) {
    s0 = hn::Add(s0, term(d, i));
    s1 = hn::Add(s1, term(d, i + n));
    s2 = hn::Add(s2, term(d, i + 2 * n));
    s3 = hn::Add(s3, term(d, i + 3 * n));
  }
  for (; i + n <= count; i += n) s0 = hn::Add(s0, term(d, i));
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  const hn::CappedTag<float, 1> d1;
  for (; i < count; ++i) sum += hn::GetLane(term(d1, i));
  return sum;
}

template <typename T>
void layer_norm_rows(const T* x, const float* weight, const float* bias, float eps, size_t rows, size_t channels, T* y) {
  for (size_t r = 0; r < rows; ++r, x += channels, y += channels) {
    const float inverse = 1.0F / static_cast<float>(channels);
    const float mean = inverse * sum_of(channels, [&](auto d, size_t i) HWY_ATTR { return load(d, x + i); });
    const float variance = inverse * sum_of(channels, [&](auto d, size_t i) HWY_ATTR {
                             const auto difference = hn::Sub(load(d, x + i), hn::Set(d, mean));
                             return hn::Mul(difference, difference);
                           });
    const float inverse_deviation = 1.0F / std::sqrt(variance + eps);
    for_each_vector(channels, [&](auto d, size_t i) HWY_ATTR {
      const auto normal = hn::Mul(hn::Sub(load(d, x + i), hn::Set(d, mean)), hn::Set(d, inverse_deviation));
      store(d, hn::MulAdd(normal, load(d, weight + i), load(d, bias + i)), y + i);
    });
  }
}

void layer_norm_f32(const float* x, const float* weight, const float* bias, float eps, size_t rows, size_t channels, float* y) {
  layer_norm_rows(x, weight, bias, eps, rows, channels, y);
}
void layer_norm_bf16(const uint16_t* x, const float* weight, const float* bias, float eps, size_t rows, size_t channels, uint16_t* y) {
  layer_norm_rows(x, weight, bias, eps, rows, channels, y);
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/parallel.h"
#include "compute/check.h"
#include "compute/op_span.h"

namespace veneer::compute {

HWY_EXPORT(layer_norm_f32);
HWY_EXPORT(layer_norm_bf16);

Tensor layer_norm(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias, float eps) {
  check_activation(context, x, "layer norm");
  const int64_t channels = x.dim(x.rank() - 1);
  check_parameter(weight, channels, "layer norm");
  check_parameter(bias, channels, "layer norm");
  const ProfileSpan span = moving_span(context, "layer_norm", x, 2);
  Tensor y = Tensor::empty(x.shape(), context.dtype, context.scratch);
  if (x.num_elements() == 0) return y;
  const auto c = static_cast<size_t>(channels);
  const size_t grain = 1 + 16384 / c;
  parallel_for(static_cast<size_t>(x.num_elements()) / c, grain, [&](size_t begin, size_t end) {
    const float *w = weight.data<float>(), *b = bias.data<float>();
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(layer_norm_f32)(x.data<float>() + begin * c, w, b, eps, end - begin, c, y.mutable_data<float>() + begin * c);
    } else {
      HWY_DYNAMIC_DISPATCH(layer_norm_bf16)(x.data<uint16_t>() + begin * c, w, b, eps, end - begin, c, y.mutable_data<uint16_t>() + begin * c);
    }
  });
  return y;
}

}  // namespace veneer::compute
#endif
