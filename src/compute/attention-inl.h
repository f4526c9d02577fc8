// Building blocks of attention whose lanes are queries. Included once per target.
#include <cstddef>

#include "compute/simd-inl.h"

#if defined(VENEER_COMPUTE_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef VENEER_COMPUTE_ATTENTION_INL_H
#undef VENEER_COMPUTE_ATTENTION_INL_H
#else
#define VENEER_COMPUTE_ATTENTION_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

using Lanes = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lanes>;

// Products run in registers: kRows keys (or channels of values) times up to kMostVectors vectors of queries. That is as many sums as leave room for
// the vectors of the other factor and one element, and more than multiply-adds are under way at a time.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kRows = 8, kMostVectors = 3;
#elif HWY_TARGET <= HWY_AVX2
constexpr size_t kRows = 4, kMostVectors = 3;
#elif HWY_TARGET == HWY_SCALAR
constexpr size_t kRows = 2, kMostVectors = 16;  // of one lane: the compiler makes vectors of them
#else
constexpr size_t kRows = 4, kMostVectors = 2;
#endif

// sums[r][v] = (fresh ? 0 : sums[r][v]) + sum over i < count of left(i, r) * right[i][v]. Rows of `right` and `sums` are `width` apart.
template <size_t kR, size_t kVectors, class Left>
HWY_INLINE void multiply(const Left& left, const float* HWY_RESTRICT right, size_t count, size_t width, bool fresh, float* HWY_RESTRICT sums) {
  const Lanes d;
  const size_t n = hn::Lanes(d);
  Vector sum[kR][kVectors];
#pragma GCC unroll 8
  for (size_t r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (size_t v = 0; v < kVectors; ++v) sum[r][v] = fresh ? hn::Zero(d) : hn::Load(d, sums + r * width + v * n);
  }
  for (size_t i = 0; i < count; ++i) {
    Vector b[kVectors];
#pragma GCC unroll 16
    for (size_t v = 0; v < kVectors; ++v) b[v] = hn::Load(d, right + i * width + v * n);
#pragma GCC unroll 8
    for (size_t r = 0; r < kR; ++r) {
      const auto a = hn::Set(d, left(i, r));
#pragma GCC unroll 16
      for (size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kR; ++r) {
#pragma GCC unroll 16
    for (size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, sums + r * width + v * n);
  }
}

// The larger, and b where one of them is no number: what x86's vectors do.
HWY_INLINE Vector larger(Vector a, Vector b) {
#if HWY_TARGET == HWY_SCALAR
  return a.raw > b.raw ? a : b;
#else
  return hn::Max(a, b);
#endif
}

// 2^x for x up to 0, exactly 0 for minus infinity; what is no number stays so. The polynomials are the minimax fits of 2^f that are 1 at 0, on [0, 1)
// and on [-1/2, 1/2], of relative error 2e-9: with a degree less, 8e-8, dpm_adaptive, which doubles errors at every step, leaves its goldens.
HWY_INLINE Vector exp2_weight(Lanes d, Vector x) {
#if HWY_TARGET <= HWY_AVX3
  // x - floor(x), and times 2^floor(x), by one instruction each.
  const Vector f{_mm512_reduce_ps(x.raw, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
  auto p = hn::MulAdd(hn::Set(d, 2.161291614e-4F), f, hn::Set(d, 1.246784613e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 9.675451597e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 5.548528061e-2F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.2402293056F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.6931470444F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  return Vector{_mm512_scalef_ps(p.raw, x.raw)};
#else
  const hn::RebindToSigned<Lanes> di;
  // Adding 1.5 * 2^23 + 127 leaves the exponent's bits in the lowest; from -127 on they are 0.
  const auto magic = hn::Set(d, 12583039.0F);
  const auto y = larger(hn::Set(d, -127.0F), x);
  const auto biased = hn::Add(y, magic);
  const auto f = hn::Sub(y, hn::Sub(biased, magic));
  auto p = hn::MulAdd(hn::Set(d, 1.5353362e-4F), f, hn::Set(d, 1.339887445e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 9.618437358e-3F));
  p = hn::MulAdd(p, f, hn::Set(d, 5.550332471e-2F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.2402264791F));
  p = hn::MulAdd(p, f, hn::Set(d, 0.6931472029F));
  p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
  // A product, since adding exponents would make a number of some NaNs.
  return hn::Mul(p, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(di, biased))));
#endif
}

// Whether queries can be turned in registers, four elements of each at a time.
constexpr bool kTurns = hn::MaxLanes(Lanes()) >= 4;

// Four elements of every fourth row, as many rows as a vector has blocks of 128 bits.
template <class D, typename T>
HWY_INLINE hn::Vec<D> every_fourth_row(D d, const T* const* rows, size_t at) {
#if HWY_TARGET == HWY_SCALAR
  return load(d, rows[0] + at);
#else
  if constexpr (hn::MaxLanes(D()) == 4) {
    return load(d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    constexpr size_t kNext = hn::MaxLanes(D()) / 2;
    return hn::Combine(d, every_fourth_row(half, rows + kNext, at), every_fourth_row(half, rows, at));
  }
#endif
}

// Four vectors, whose blocks of 4 x 4 elements turned() turns.
struct FourVectors {
  Vector v0, v1, v2, v3;
};
HWY_INLINE FourVectors turned(Lanes d, const FourVectors& x) {
#if HWY_TARGET == HWY_SCALAR
  (void)d;
  return x;
#else
  const hn::RepartitionToWide<Lanes> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, x.v0, x.v1)), low23 = hn::BitCast(pairs, hn::InterleaveLower(d, x.v2, x.v3));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, x.v0, x.v1)), high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, x.v2, x.v3));
  return {hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23)), hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23)),
          hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23)), hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23))};
#endif
}

// lanes[c][i] = factor * queries[i][c], rows `width` and `stride` apart; the last of `count` queries again in the lanes behind it.
template <typename T>
void queries_to_lanes(const T* queries, size_t stride, size_t count, float factor, size_t head_dim, size_t width, float* lanes) {
  const Lanes d;
  const hn::CappedTag<float, 1> d1;
  const size_t n = hn::Lanes(d), whole = kTurns ? head_dim / 4 * 4 : 0;
  const T* rows[kMostVectors * hn::MaxLanes(Lanes())];
  for (size_t i = 0; i < width; ++i) rows[i] = queries + (i < count ? i : count - 1) * stride;
  const auto scale = hn::Set(d, factor);
  for (size_t i = 0; i < width; i += n) {
    for (size_t c = 0; c < whole; c += 4) {
      const FourVectors x = turned(d, {every_fourth_row(d, rows + i, c), every_fourth_row(d, rows + i + 1, c), every_fourth_row(d, rows + i + 2, c),
                                       every_fourth_row(d, rows + i + 3, c)});
      float* to = lanes + c * width + i;
      hn::Store(hn::Mul(x.v0, scale), d, to);
      hn::Store(hn::Mul(x.v1, scale), d, to + width);
      hn::Store(hn::Mul(x.v2, scale), d, to + 2 * width);
      hn::Store(hn::Mul(x.v3, scale), d, to + 3 * width);
    }
  }
  for (size_t c = whole; c < head_dim; ++c) {
    for (size_t i = 0; i < width; ++i) lanes[c * width + i] = hn::GetLane(load(d1, rows[i] + c)) * factor;
  }
}

// results[i][c] = lanes[c][i] / totals[i] for i < count, rows `stride` and `width` apart.
template <typename T>
void lanes_to_results(const float* lanes, const float* totals, size_t head_dim, size_t width, size_t count, T* results, size_t stride) {
  const Lanes d;
  const hn::CappedTag<float, 4> d4;
  const hn::CappedTag<float, 1> d1;
  const size_t n = hn::Lanes(d), whole = kTurns ? head_dim / 4 * 4 : 0;
  HWY_ALIGN float block[4 * hn::MaxLanes(Lanes())];
  for (size_t i = 0; i < count; i += n) {
    const size_t there = count - i < n ? count - i : n;
    const auto inverse = hn::Div(hn::Set(d, 1.0F), hn::Load(d, totals + i));
    const auto mean = [&](size_t c) HWY_ATTR { return hn::Mul(hn::Load(d, lanes + c * width + i), inverse); };
    for (size_t c = 0; c < whole; c += 4) {
      const FourVectors x = turned(d, {mean(c), mean(c + 1), mean(c + 2), mean(c + 3)});
      hn::Store(x.v0, d, block);
      hn::Store(x.v1, d, block + n);
      hn::Store(x.v2, d, block + 2 * n);
      hn::Store(x.v3, d, block + 3 * n);
      // Query i + q is in block q / 4 of vector q % 4.
      for (size_t q = 0; q < there; ++q) store(d4, hn::Load(d4, block + q % 4 * n + q / 4 * 4), results + (i + q) * stride + c);
    }
    for (size_t c = whole; c < head_dim; ++c) {
      hn::Store(mean(c), d, block);
      for (size_t q = 0; q < there; ++q) store(d1, hn::Set(d1, block[q]), results + (i + q) * stride + c);
    }
  }
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
