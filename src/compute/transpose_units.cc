#include "compute/transpose_units.h"

#include <cstring>
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/transpose_units.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR

void transpose(const float* HWY_RESTRICT from, size_t stride, size_t rows, size_t columns, float* HWY_RESTRICT to, size_t to_stride) {
  for (size_t c = 0; c < columns; ++c) {
    // Units may be pairs of bf16.
    for (size_t r = 0; r < rows; ++r) std::memcpy(to + c * to_stride + r, from + r * stride + c, sizeof(float));
  }
}

#else

// Four columns of every fourth row, as many rows as a vector has blocks of 128 bits.
template <class D>
HWY_INLINE hn::Vec<D> every_fourth_row(D d, const float* from, size_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    (void)stride;
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr size_t kRows = hn::MaxLanes(D()) / 2;
    return hn::Combine(d, every_fourth_row(half, from + kRows * stride, stride), every_fourth_row(half, from, stride));
  }
}

void transpose(const float* HWY_RESTRICT from, size_t stride, size_t rows, size_t columns, float* HWY_RESTRICT to, size_t to_stride) {
  const hn::CappedTag<float, 16> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  const size_t n = hn::Lanes(d);
  for (size_t c = 0; c < columns; c += 4) {
    for (size_t r = 0; r < rows; r += n) {
      const float* at = from + r * stride + c;
      const auto v0 = every_fourth_row(d, at, stride), v1 = every_fourth_row(d, at + stride, stride);
      const auto v2 = every_fourth_row(d, at + 2 * stride, stride), v3 = every_fourth_row(d, at + 3 * stride, stride);
      const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, v0, v1)), low23 = hn::BitCast(pairs, hn::InterleaveLower(d, v2, v3));
      const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, v0, v1)), high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, v2, v3));
      float* out = to + c * to_stride + r;
      hn::Stream(hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), d, out);
      hn::Stream(hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)), d, out + to_stride);
      hn::Stream(hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), d, out + 2 * to_stride);
      hn::Stream(hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23)), d, out + 3 * to_stride);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

void narrow(const float* HWY_RESTRICT from, size_t count, uint16_t* HWY_RESTRICT to) {
  for_each_vector(count, [&](auto d, size_t i) HWY_ATTR { store(d, hn::LoadU(d, from + i), to + i); });
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::compute {

HWY_EXPORT(transpose);
HWY_EXPORT(narrow);

void transpose_units(const float* from, size_t from_stride, size_t rows, size_t columns, float* to, size_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose)(from, from_stride, rows, columns, to, to_stride);
}

void narrow_rows(const float* from, size_t from_stride, size_t rows, size_t columns, uint16_t* to) {
  for (size_t row = 0; row < rows; ++row) HWY_DYNAMIC_DISPATCH(narrow)(from + row * from_stride, columns, to + row * columns);
}

}  // namespace veneer::compute
#endif
