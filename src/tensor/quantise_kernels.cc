#include "tensor/quantise_kernels.h"

#include <cmath>
#include <cstdint>

#include "tensor/convert_scalar.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/quantise_kernels.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr size_t kElements = 32;

// At most as many lanes as a block has elements.
using F32 = hn::CappedTag<float, kElements>;

float largest_magnitude(const float* HWY_RESTRICT in) {
  const F32 f;
  auto largest = hn::Zero(f);
  for (size_t i = 0; i < kElements; i += hn::Lanes(f)) largest = hn::Max(largest, hn::Abs(hn::LoadU(f, in + i)));
  return hn::GetLane(hn::MaxOfLanes(f, largest));
}

// Halves go away from zero, as in ggml's reference. What is cut off is exact, so that a value just below a half stays below.
void levels_q8_0(const float* HWY_RESTRICT in, float inverse, int8_t* HWY_RESTRICT out) {
  const F32 f;
  const hn::RebindToSigned<F32> d;
  const hn::Rebind<int8_t, F32> small;
  const auto half = hn::Set(f, 0.5F), one = hn::Set(f, 1.0F);
  for (size_t i = 0; i < kElements; i += hn::Lanes(f)) {
    const auto x = hn::Mul(hn::LoadU(f, in + i), hn::Set(f, inverse));
    const auto whole = hn::ConvertTo(f, hn::ConvertTo(d, x));
    const auto away = hn::IfThenElseZero(hn::Ge(hn::Abs(hn::Sub(x, whole)), half), hn::CopySign(one, x));
    hn::StoreU(hn::DemoteTo(small, hn::ConvertTo(d, hn::Add(whole, away))), small, out + i);
  }
}

void to_q8_0(const float* in, size_t num_blocks, uint8_t* out) {
  for (size_t i = 0; i < num_blocks; ++i, in += kElements, out += kElements + 2) {
    const float d = largest_magnitude(in) / 127.0F;
    // Infinite for the smallest values, whose f16 is zero.
    const float inverse = 1.0F / d;
    const uint16_t bits = scalar::f32_to_f16(d);
    out[0] = static_cast<uint8_t>(bits & 0xffU);
    out[1] = static_cast<uint8_t>(bits >> 8);
    levels_q8_0(in, std::isfinite(inverse) ? inverse : 0.0F, reinterpret_cast<int8_t*>(out + 2));
  }
}

}  // namespace veneer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veneer::kernels {
namespace {

HWY_EXPORT(to_q8_0);

}  // namespace

void quantise_q8_0(const float* in, size_t num_blocks, std::byte* out) {
  HWY_DYNAMIC_DISPATCH(to_q8_0)(in, num_blocks, reinterpret_cast<uint8_t*>(out));
}

}  // namespace veneer::kernels
#endif  // HWY_ONCE
