// add, silu, gelu, scale: one pass over memory.
#include "compute/ops.h"
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/elementwise.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

template <typename T>
void add_range(const T* a, const T* b, T* y, size_t count) {
  for_each_vector(count, [&](auto d, size_t i) HWY_ATTR { store(d, hn::Add(load(d, a + i), load(d, b + i)), y + i); });
}

template <typename T>
void silu_range(const T* x, T* y, size_t count) {
  for_each_vector(count, [&](auto d, size_t i) HWY_ATTR { store(d, silu_of(d, load(d, x + i)), y + i); });
}

template <typename T>
void gelu_range(const T* x, T* y, size_t count) {
  for_each_vector(count, [&](auto d, size_t i) HWY_ATTR { store(d, gelu_of(d, load(d, x + i)), y + i); });
}

template <typename T>
void scale_range(const T* x, float factor, T* y, size_t count) {
  for_each_vector(count, [&](auto d, size_t i) HWY_ATTR { store(d, hn::Mul(load(d, x + i), hn::Set(d, factor)), y + i); });
}

void add_f32(const float* a, const float* b, float* y, size_t count) { add_range(a, b, y, count); }
void add_bf16(const uint16_t* a, const uint16_t* b, uint16_t* y, size_t count) { add_range(a, b, y, count); }
void silu_f32(const float* x, float* y, size_t count) { silu_range(x, y, count); }
void silu_bf16(const uint16_t* x, uint16_t* y, size_t count) { silu_range(x, y, count); }
void gelu_f32(const float* x, float* y, size_t count) { gelu_range(x, y, count); }
void gelu_bf16(const uint16_t* x, uint16_t* y, size_t count) { gelu_range(x, y, count); }
void scale_f32(const float* x, float factor, float* y, size_t count) { scale_range(x, factor, y, count); }
void scale_bf16(const uint16_t* x, float factor, uint16_t* y, size_t count) { scale_range(x, factor, y, count); }

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "base/parallel.h"
#include "compute/check.h"
#include "compute/op_span.h"

namespace veneer::compute {

HWY_EXPORT(add_f32);
HWY_EXPORT(add_bf16);
HWY_EXPORT(silu_f32);
HWY_EXPORT(silu_bf16);
HWY_EXPORT(gelu_f32);
HWY_EXPORT(gelu_bf16);
HWY_EXPORT(scale_f32);
HWY_EXPORT(scale_bf16);

namespace {

// Ranges begin at whole vectors of every target, so that an element's bits do not depend on the number of threads.
constexpr size_t kBlock = 4096;

template <typename Body>
void for_each_range(const Tensor& y, const Body& body) {
  const auto count = static_cast<size_t>(y.num_elements());
  parallel_for((count + kBlock - 1) / kBlock, 4, [&](size_t begin, size_t end) { body(begin * kBlock, std::min(count, end * kBlock)); });
}

}  // namespace

Tensor add(Context& context, const Tensor& a, const Tensor& b) {
  check_activation(context, a, "add");
  check_activation(context, b, "add");
  check_same_shape(a, b, "add");
  const ProfileSpan span = moving_span(context, "add", a, 3);
  Tensor y = Tensor::empty(a.shape(), context.dtype, context.scratch);
  for_each_range(y, [&](size_t begin, size_t end) {
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(add_f32)(a.data<float>() + begin, b.data<float>() + begin, y.mutable_data<float>() + begin, end - begin);
    } else {
      HWY_DYNAMIC_DISPATCH(add_bf16)(a.data<uint16_t>() + begin, b.data<uint16_t>() + begin, y.mutable_data<uint16_t>() + begin, end - begin);
    }
  });
  return y;
}

Tensor silu(Context& context, const Tensor& x) {
  check_activation(context, x, "silu");
  const ProfileSpan span = moving_span(context, "silu", x, 2);
  Tensor y = Tensor::empty(x.shape(), context.dtype, context.scratch);
  for_each_range(y, [&](size_t begin, size_t end) {
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(silu_f32)(x.data<float>() + begin, y.mutable_data<float>() + begin, end - begin);
    } else {
      HWY_DYNAMIC_DISPATCH(silu_bf16)(x.data<uint16_t>() + begin, y.mutable_data<uint16_t>() + begin, end - begin);
    }
  });
  return y;
}

Tensor gelu(Context& context, const Tensor& x) {
  check_activation(context, x, "gelu");
  const ProfileSpan span = moving_span(context, "gelu", x, 2);
  Tensor y = Tensor::empty(x.shape(), context.dtype, context.scratch);
  for_each_range(y, [&](size_t begin, size_t end) {
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(gelu_f32)(x.data<float>() + begin, y.mutable_data<float>() + begin, end - begin);
    } else {
      HWY_DYNAMIC_DISPATCH(gelu_bf16)(x.data<uint16_t>() + begin, y.mutable_data<uint16_t>() + begin, end - begin);
    }
  });
  return y;
}

Tensor activate(Context& context, const Tensor& x, Activation activation) {
  constexpr float kQuickGelu = 1.702F;
  switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return silu(context, x);
    case Activation::gelu: return gelu(context, x);
    case Activation::quick_gelu: return scale(context, silu(context, scale(context, x, kQuickGelu)), 1 / kQuickGelu);
  }
  return x;
}

Tensor scale(Context& context, const Tensor& x, float factor) {
  check_activation(context, x, "scale");
  const ProfileSpan span = moving_span(context, "scale", x, 2);
  Tensor y = Tensor::empty(x.shape(), context.dtype, context.scratch);
  for_each_range(y, [&](size_t begin, size_t end) {
    if (context.dtype == DType::f32) {
      HWY_DYNAMIC_DISPATCH(scale_f32)(x.data<float>() + begin, factor, y.mutable_data<float>() + begin, end - begin);
    } else {
      HWY_DYNAMIC_DISPATCH(scale_bf16)(x.data<uint16_t>() + begin, factor, y.mutable_data<uint16_t>() + begin, end - begin);
    }
  });
  return y;
}

}  // namespace veneer::compute
#endif
