// Building blocks of the Highway kernels: loads and stores that convert, and elementary functions. Included once per target.
#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#if defined(VENEER_COMPUTE_SIMD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_COMPUTE_SIMD_INL_H
#undef VENEER_COMPUTE_SIMD_INL_H
#else
#define VENEER_COMPUTE_SIMD_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Elements are float, or uint16_t for bf16.
template <class D>
HWY_INLINE hn::Vec<D> load(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const uint16_t* from) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, hn::LoadU(d16, from))));
}

template <class D>
HWY_INLINE void store(D d, hn::Vec<D> value, float* to) {
  hn::StoreU(value, d, to);
}

// Round to nearest even; the same bits on every target, so no use of the bf16 instructions, which flush denormals.
template <class D>
HWY_INLINE void store(D /*d*/, hn::Vec<D> value, uint16_t* to) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  const auto bits = hn::BitCast(d32, value);
  const auto high = hn::ShiftRight<16>(bits);
  const auto round = hn::Add(hn::And(high, hn::Set(d32, 1U)), hn::Set(d32, 0x7FFFU));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, round));
  // Adding could carry a NaN's payload over into infinity.
  const auto quiet = hn::Or(high, hn::Set(d32, 0x40U));
  const auto result = hn::IfThenElse(hn::RebindMask(d32, hn::IsNaN(value)), quiet, rounded);
  hn::StoreU(hn::TruncateTo(d16, result), d16, to);
}

// For values that are not negative: half a step more and cut, which differs from round to even on exact halves only.
template <class D>
HWY_INLINE void store_weight(D /*d*/, hn::Vec<D> value, uint16_t* to) {
  const hn::Rebind<uint16_t, D> d16;
  const hn::Rebind<uint32_t, D> d32;
  hn::StoreU(hn::TruncateTo(d16, hn::ShiftRight<16>(hn::Add(hn::BitCast(d32, value), hn::Set(d32, 0x8000U)))), d16, to);
}

// Calls kernel(d, index) for a run of elements: in whole vectors, then in fours, then one by one.
template <class Kernel>
HWY_INLINE void for_each_vector(size_t count, Kernel&& kernel) {
  const hn::ScalableTag<float> d;
  size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) kernel(d, i);
  const hn::CappedTag<float, 4> d4;
  for (; i + 4 <= count; i += 4) kernel(d4, i);
  const hn::CappedTag<float, 1> d1;
  for (; i < count; ++i) kernel(d1, i);
}

// 1 / x for finite |x| in the normal range. Error 1 ulp.
template <class D>
HWY_INLINE hn::Vec<D> reciprocal(D d, hn::Vec<D> x) {
#if HWY_TARGET <= HWY_AVX3
  // 14 exact bits, then one step of Newton: a quarter of a 512-bit division's time.
  const auto r = hn::ApproximateReciprocal(x);
  (void)d;
  return hn::MulAdd(hn::NegMulAdd(x, r, hn::Set(d, 1.0F)), r, r);
#else
  return hn::Div(hn::Set(d, 1.0F), x);
#endif
}

// 2^(x * factor), with x * factor clamped below at -126 (results there are at most 1.2e-38) and required to stay below 127.5.
// The polynomial of degree 6 or 3 is the minimax fit of 2^f on [-1/2, 1/2] in relative error: 1.9e-9 or 7.5e-5.
template <int kDegree, class D>
HWY_INLINE hn::Vec<D> exp2_scaled(D d, hn::Vec<D> x, hn::Vec<D> factor, hn::Vec<D> offset) {
  const hn::RebindToSigned<D> di;
  // The order in Max lets a NaN pass. Adding 1.5 * 2^23 leaves the nearest integer in the low bits.
  const auto magic = hn::Set(d, 12582912.0F);
  const auto y = hn::Max(hn::Set(d, -126.0F), hn::MulAdd(x, factor, offset));
  const auto biased = hn::Add(y, magic);
  const auto f = hn::Sub(y, hn::Sub(biased, magic));
  auto p = hn::Zero(d);  // written below in every case; the sanitizers' builds cannot tell
  if constexpr (kDegree == 3) {
    p = hn::MulAdd(hn::Set(d, 0.0551716691F), f, hn::Set(d, 0.2426111222F));
    p = hn::MulAdd(p, f, hn::Set(d, 0.6932609855F));
    p = hn::MulAdd(p, f, hn::Set(d, 0.9999280735F));
  } else {
    static_assert(kDegree == 6);
    p = hn::MulAdd(hn::Set(d, 1.534581216e-4F), f, hn::Set(d, 1.3399931210e-3F));
    p = hn::MulAdd(p, f, hn::Set(d, 9.6184889565e-3F));
    p = hn::MulAdd(p, f, hn::Set(d, 5.5503287770e-2F));
    p = hn::MulAdd(p, f, hn::Set(d, 0.2402264690F));
    p = hn::MulAdd(p, f, hn::Set(d, 0.6931472057F));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  }
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, biased))));
}

constexpr float kLog2E = 1.44269504F;
constexpr float kErfc[9] = {1.4575933646e-4F, 0.2228747227F, 0.2489931586F,  9.7556174740e-2F, 0.4945429280F,
                            -0.4828475755F,   0.7687538840F, -0.4311106147F, 8.1091534285e-2F};

// e^(-x), clamped to [1.2e-38, 8.5e37].
template <class D>
HWY_INLINE hn::Vec<D> exp_negated(D d, hn::Vec<D> x) {
  const auto clamped = hn::Max(hn::Set(d, -87.3F), x);
  return exp2_scaled<6>(d, clamped, hn::Set(d, -kLog2E), hn::Zero(d));
}

// x / (1 + e^-x)
template <class D>
HWY_INLINE hn::Vec<D> silu_of(D d, hn::Vec<D> x) {
  return hn::Mul(x, reciprocal(d, hn::Add(hn::Set(d, 1.0F), exp_negated(d, x))));
}

// x * Phi(x) = max(x, 0) - |x| q / 2 with q = erfc(|x| / sqrt(2)) = e^(-x^2 / 2) P(1 / (1 + 0.4 |x| / sqrt(2))).
// P is the minimax fit of degree 8, relative error 3e-8 for |x| up to 9.9, where q is 1e-22.
template <class D>
HWY_INLINE hn::Vec<D> gelu_of(D d, hn::Vec<D> x) {
  const auto size = hn::Abs(x);
  const auto t = reciprocal(d, hn::MulAdd(size, hn::Set(d, 0.282842712F), hn::Set(d, 1.0F)));
  auto p = hn::Set(d, kErfc[8]);
  for (int i = 7; i >= 0; --i) p = hn::MulAdd(p, t, hn::Set(d, kErfc[i]));
  const auto half_square = hn::Mul(hn::Mul(size, size), hn::Set(d, 0.5F));
  const auto q = hn::Mul(p, exp_negated(d, half_square));
  return hn::NegMulAdd(hn::Mul(size, hn::Set(d, 0.5F)), q, hn::Max(x, hn::Zero(d)));
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
