#include "tensor/convert_kernels.h"

#include "tensor/convert_scalar.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/convert_kernels.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Integer arithmetic on the bits, as in convert_scalar.h, which says why; the instructions for the conversions themselves round differently from
// target to target. Every magnitude is below 2^31, so signed comparisons serve.
using D32 = hn::ScalableTag<int32_t>;
using F32 = hn::ScalableTag<float>;
using V32 = hn::Vec<D32>;

struct Format {
  int shift;                // 23 - mantissa bits
  int32_t rebias;           // difference of the biases, as exponent bits
  int32_t smallest_normal;  // as f32 bits
  int32_t magic;            // f32 bits of the number whose unit is the subnormal unit
  int32_t limit;            // f32 bits from which a value is out of range
  int32_t overflow;         // what it becomes
  int32_t nan;
  int sign_shift;
};

constexpr Format kF16 = {13, 112 << 23, 113 << 23, 126 << 23, 143 << 23, 0x7c00, 0x7e00, 16};
constexpr Format kE4M3FN = {20, 120 << 23, 121 << 23, 141 << 23, 0x43f00000, 0x7f, 0x7f, 24};
constexpr Format kE5M2 = {21, 112 << 23, 113 << 23, 134 << 23, 143 << 23, 0x7c, 0x7f, 24};

template <const Format& kFormat>
V32 narrow(V32 bits) {
  const D32 d;
  const F32 f;
  const auto rest = hn::And(bits, hn::Set(d, 0x7fffffff));
  const auto sign = hn::And(hn::BitCast(d, hn::ShiftRight<kFormat.sign_shift>(hn::BitCast(hn::RebindToUnsigned<D32>(), bits))),
                            hn::Set(d, kFormat.sign_shift == 16 ? 0x8000 : 0x80));
  const auto odd = hn::And(hn::ShiftRight<kFormat.shift>(rest), hn::Set(d, 1));
  const auto normal = hn::ShiftRight<kFormat.shift>(hn::Add(hn::Add(rest, hn::Set(d, (1 << (kFormat.shift - 1)) - 1 - kFormat.rebias)), odd));
  const auto magic = hn::Set(d, kFormat.magic);
  const auto tiny = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(f, rest), hn::BitCast(f, magic))), magic);
  auto result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, kFormat.smallest_normal)), tiny, normal);
  result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, kFormat.limit)), result, hn::Set(d, kFormat.overflow));
  result = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 0x7f800000)), hn::Set(d, kFormat.nan), result);
  return hn::Or(result, sign);
}

V32 narrow_bf16(V32 bits) {
  const D32 d;
  const hn::RebindToUnsigned<D32> u;
  const auto unsigned_bits = hn::BitCast(u, bits);
  const auto odd = hn::And(hn::ShiftRight<16>(unsigned_bits), hn::Set(u, 1));
  const auto rounded = hn::BitCast(d, hn::ShiftRight<16>(hn::Add(hn::Add(unsigned_bits, hn::Set(u, 0x7fff)), odd)));
  const auto is_nan = hn::Gt(hn::And(bits, hn::Set(d, 0x7fffffff)), hn::Set(d, 0x7f800000));
  return hn::IfThenElse(is_nan, hn::Set(d, 0x7fc0), rounded);
}

V32 widen_f16(V32 half) {
  const D32 d;
  const F32 f;
  const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(d, 0x8000)));
  const auto rest = hn::ShiftLeft<13>(hn::And(half, hn::Set(d, 0x7fff)));
  const auto normal = hn::Add(rest, hn::Set(d, 112 << 23));
  const auto special = hn::Add(normal, hn::Set(d, 112 << 23));
  const auto tiny = hn::Sub(hn::BitCast(f, hn::Add(normal, hn::Set(d, 1 << 23))), hn::BitCast(f, hn::Set(d, 113 << 23)));
  auto result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 31 << 23)), normal, special);
  result = hn::IfThenElse(hn::Lt(rest, hn::Set(d, 1 << 23)), hn::BitCast(d, tiny), result);
  result = hn::IfThenElse(hn::Gt(rest, hn::Set(d, 31 << 23)), hn::Or(result, hn::Set(d, 0x400000)), result);
  return hn::Or(result, sign);
}

// Elements [0, returned) of in, a whole number of vectors.
template <typename T, typename Narrow>
size_t narrow_all(const float* HWY_RESTRICT in, size_t count, T* HWY_RESTRICT out, Narrow step) {
  const D32 d;
  const hn::Rebind<T, D32> small;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = step(hn::BitCast(d, hn::LoadU(F32(), in + i)));
    hn::StoreU(hn::TruncateTo(small, hn::BitCast(hn::RebindToUnsigned<D32>(), bits)), small, out + i);
  }
  return i;
}

template <typename Widen>
size_t widen_all(const uint16_t* HWY_RESTRICT in, size_t count, float* HWY_RESTRICT out, Widen step) {
  const D32 d;
  const hn::Rebind<uint16_t, D32> small;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::BitCast(d, hn::PromoteTo(hn::RebindToUnsigned<D32>(), hn::LoadU(small, in + i)));
    hn::StoreU(hn::BitCast(F32(), step(bits)), F32(), out + i);
  }
  return i;
}

size_t from_f16(const uint16_t* in, size_t count, float* out) {
#if HWY_TARGET <= HWY_AVX2
  // Widening is exact, so the instruction gives the same values.
  const F32 f;
  const hn::Rebind<hwy::float16_t, F32> half;
  const size_t lanes = hn::Lanes(f);
  size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::PromoteTo(f, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(in + i))), f, out + i);
  return i;
#else
  return widen_all(in, count, out, [](V32 v) HWY_ATTR { return widen_f16(v); });
#endif
}
size_t from_bf16(const uint16_t* in, size_t count, float* out) {
  return widen_all(in, count, out, [](V32 v) HWY_ATTR { return hn::ShiftLeft<16>(v); });
}
size_t to_f16(const float* in, size_t count, uint16_t* out) {
  return narrow_all(in, count, out, [](V32 v) HWY_ATTR { return narrow<kF16>(v); });
}
size_t to_bf16(const float* in, size_t count, uint16_t* out) {
  return narrow_all(in, count, out, [](V32 v) HWY_ATTR { return narrow_bf16(v); });
}
size_t to_f8_e4m3fn(const float* in, size_t count, uint8_t* out) {
  return narrow_all(in, count, out, [](V32 v) HWY_ATTR { return narrow<kE4M3FN>(v); });
}
size_t to_f8_e5m2(const float* in, size_t count, uint8_t* out) {
  return narrow_all(in, count, out, [](V32 v) HWY_ATTR { return narrow<kE5M2>(v); });
}

}  // namespace veneer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veneer::kernels {
namespace {

HWY_EXPORT(from_f16);
HWY_EXPORT(from_bf16);
HWY_EXPORT(to_f16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_f8_e4m3fn);
HWY_EXPORT(to_f8_e5m2);

}  // namespace

void f16_to_f32(const uint16_t* in, size_t count, float* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(from_f16)(in, count, out); i < count; ++i) out[i] = scalar::f16_to_f32(in[i]);
}
void f32_to_f16(const float* in, size_t count, uint16_t* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(to_f16)(in, count, out); i < count; ++i) out[i] = scalar::f32_to_f16(in[i]);
}
void bf16_to_f32(const uint16_t* in, size_t count, float* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(from_bf16)(in, count, out); i < count; ++i) out[i] = scalar::bf16_to_f32(in[i]);
}
void f32_to_bf16(const float* in, size_t count, uint16_t* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(to_bf16)(in, count, out); i < count; ++i) out[i] = scalar::f32_to_bf16(in[i]);
}
void f32_to_f8_e4m3fn(const float* in, size_t count, uint8_t* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(to_f8_e4m3fn)(in, count, out); i < count; ++i) out[i] = scalar::F8E4M3FN::encode(in[i]);
}
void f32_to_f8_e5m2(const float* in, size_t count, uint8_t* out) {
  for (size_t i = HWY_DYNAMIC_DISPATCH(to_f8_e5m2)(in, count, out); i < count; ++i) out[i] = scalar::F8E5M2::encode(in[i]);
}

}  // namespace veneer::kernels
#endif  // HWY_ONCE
