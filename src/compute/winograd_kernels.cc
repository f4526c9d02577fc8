#include "compute/winograd_kernels.h"

#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/winograd_kernels.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::winograd::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using compute::HWY_NAMESPACE::load;

using Lanes = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Lanes>;

// As many sums in registers as leave room for the vectors of the weights and one element of the input.
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kRows = 6, kVectors = 4;
#elif HWY_TARGET <= HWY_AVX2
constexpr size_t kRows = 6, kVectors = 2;
#elif HWY_TARGET == HWY_SCALAR
constexpr size_t kRows = 2, kVectors = 16;  // of one lane: the compiler makes vectors of them
#else
constexpr size_t kRows = 4, kVectors = 2;
#endif

constexpr size_t kLine = 16;  // floats of a cache line

// Where a tile lies.
struct Place {
  int64_t picture, row, column;  // of the first result
};
HWY_INLINE Place place_of(const Tiling& tiling, size_t tile) {
  const int64_t columns = tiling.columns(), per_picture = tiling.rows() * columns, index = static_cast<int64_t>(tile), rest = index % per_picture;
  return {index / per_picture, rest / columns * tiling.side(), rest % columns * tiling.side()};
}

// A row or column of B^T d.
HWY_INLINE void spread_pixels(Vector a, Vector b, Vector c, Vector e, Vector* HWY_RESTRICT out, size_t step) {
  out[0] = hn::Sub(a, c);
  out[step] = hn::Add(b, c);
  out[2 * step] = hn::Sub(c, b);
  out[3 * step] = hn::Sub(b, e);
}

void transform_input(const Tiling& tiling, const float* x, size_t channels, TileRange tiles, float* values) {
  const Lanes d;
  const size_t n = hn::Lanes(d);
  HWY_ALIGN static constexpr float kOutside[kChannels] = {};
  for (size_t panel = 0; panel < channels; panel += kChannels, values += kPositions * kTileStep) {
    float* to = values;
    for (size_t t = 0; t < tiles.count; ++t, to += kChannels) {
      const Place place = place_of(tiling, tiles.first + t);
      const float* pixels[16];
      for (int64_t i = 0; i < 16; ++i) {
        const int64_t row = place.row - tiling.pad_top + i / 4, column = place.column - tiling.pad_left + i % 4;
        const bool inside = row >= 0 && row < tiling.height && column >= 0 && column < tiling.width;
        pixels[i] = inside ? x + static_cast<size_t>((place.picture * tiling.height + row) * tiling.width + column) * channels + panel : &kOutside[0];
      }
      for (size_t c = 0; c < kChannels; c += n) {
        Vector columns[16], out[4];
#pragma GCC unroll 4
        for (size_t j = 0; j < 4; ++j) {
          spread_pixels(hn::LoadU(d, pixels[j] + c), hn::LoadU(d, pixels[4 + j] + c), hn::LoadU(d, pixels[8 + j] + c),
                        hn::LoadU(d, pixels[12 + j] + c), columns + j, 4);
        }
#pragma GCC unroll 4
        for (size_t i = 0; i < 4; ++i) {
          spread_pixels(columns[4 * i], columns[4 * i + 1], columns[4 * i + 2], columns[4 * i + 3], out, 1);
#pragma GCC unroll 4
          for (size_t j = 0; j < 4; ++j) hn::Store(out[j], d, to + (4 * i + j) * kTileStep + c);
        }
      }
    }
  }
}

// Distinct from bf16's uint16_t.
struct F16 {
  uint16_t bits;
};
HWY_INLINE Vector load(Lanes d, const F16* from) {
#if HWY_TARGET <= HWY_AVX2
  const hn::Rebind<hwy::float16_t, Lanes> half;
  return hn::PromoteTo(d, hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
#else
  const hn::Rebind<uint16_t, Lanes> d16;
  const hn::Rebind<uint32_t, Lanes> d32;
  const auto bits = hn::PromoteTo(d32, hn::LoadU(d16, reinterpret_cast<const uint16_t*>(from)));
  // The exponents' bias differs by 112. Exact for subnormals, too; the largest exponent stands for infinities and NaNs.
  const auto rest = hn::ShiftLeft<13>(hn::And(bits, hn::Set(d32, 0x7FFFU)));
  const auto number = hn::BitCast(d32, hn::Mul(hn::BitCast(d, rest), hn::Set(d, 0x1p112F)));
  const auto special = hn::IfThenElseZero(hn::Eq(hn::And(bits, hn::Set(d32, 0x7C00U)), hn::Set(d32, 0x7C00U)), hn::Set(d32, 0x7F800000U));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(d32, 0x8000U)));
  return hn::BitCast(d, hn::Or(hn::Or(number, special), sign));
#endif
}

// A row or column of G g, of kTaps taps `step` apart.
template <size_t kTaps>
HWY_INLINE void spread_taps(const Vector* HWY_RESTRICT g, size_t step, Vector half, Vector* HWY_RESTRICT out, size_t out_step) {
  const auto last = g[(kTaps - 1) * step];
  const auto outer = hn::Mul(half, kTaps == 3 ? hn::Add(g[0], last) : g[0]), inner = hn::Mul(half, g[step]);
  out[0] = g[0];
  out[out_step] = hn::Add(outer, inner);
  out[2 * out_step] = hn::Sub(outer, inner);
  out[3 * out_step] = last;
}

template <size_t kTaps, typename T>
void transform_taps(const T* HWY_RESTRICT from, size_t tap_step, float* HWY_RESTRICT to) {
  const Lanes d;
  const auto half = hn::Set(d, 0.5F);
  for (size_t c = 0; c < kChannels * kChannels; c += hn::Lanes(d)) {
    Vector taps[kTaps * kTaps], columns[4 * kTaps], out[4];
#pragma GCC unroll 9
    for (size_t tap = 0; tap < kTaps * kTaps; ++tap) taps[tap] = load(d, from + tap * tap_step + c);
#pragma GCC unroll 3
    for (size_t j = 0; j < kTaps; ++j) spread_taps<kTaps>(taps + j, kTaps, half, columns + j, kTaps);
#pragma GCC unroll 4
    for (size_t i = 0; i < 4; ++i) {
      spread_taps<kTaps>(columns + i * kTaps, 1, half, out, 1);
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) hn::Store(out[j], d, to + (4 * i + j) * kWeightStep + c);
    }
  }
}

template <typename T>
void transform_weights_of(const T* from, int64_t taps, size_t tap_step, float* to) {
  return taps == 3 ? transform_taps<3>(from, tap_step, to) : transform_taps<2>(from, tap_step, to);
}
void transform_f32(const float* from, int64_t taps, size_t tap_step, float* to) { transform_weights_of(from, taps, tap_step, to); }
void transform_bf16(const uint16_t* from, int64_t taps, size_t tap_step, float* to) { transform_weights_of(from, taps, tap_step, to); }
void transform_f16(const uint16_t* from, int64_t taps, size_t tap_step, float* to) {
  transform_weights_of(reinterpret_cast<const F16*>(from), taps, tap_step, to);
}

template <size_t kCount>
HWY_INLINE void multiply_rows(const float* HWY_RESTRICT input, const float* HWY_RESTRICT weights, bool fresh, float* HWY_RESTRICT sums) {
  const Lanes d;
  const size_t n = hn::Lanes(d);
  // The next rows: input comes from a far cache. Behind the last ones lies the next position.
  for (size_t i = 0; i < kCount * kChannels; i += kLine) __builtin_prefetch(input + kCount * kChannels + i, 0, 3);
  for (size_t column = 0; column < kChannels; column += kVectors * n) {
    Vector sum[kCount][kVectors];
#pragma GCC unroll 8
    for (size_t r = 0; r < kCount; ++r) {
#pragma GCC unroll 16
      for (size_t v = 0; v < kVectors; ++v) sum[r][v] = fresh ? hn::Zero(d) : hn::Load(d, sums + r * kChannels + column + v * n);
    }
    for (size_t i = 0; i < kChannels; ++i) {
      Vector b[kVectors];
#pragma GCC unroll 16
      for (size_t v = 0; v < kVectors; ++v) b[v] = hn::Load(d, weights + i * kChannels + column + v * n);
#pragma GCC unroll 8
      for (size_t r = 0; r < kCount; ++r) {
        const auto a = hn::Set(d, input[r * kChannels + i]);
#pragma GCC unroll 16
        for (size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
      }
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kCount; ++r) {
#pragma GCC unroll 16
      for (size_t v = 0; v < kVectors; ++v) hn::Store(sum[r][v], d, sums + r * kChannels + column + v * n);
    }
  }
}

void multiply(const float* input, const float* weights, size_t tiles, bool fresh, float* sums) {
  // Groups one row smaller rather than a small rest: with few sums, multiply-adds wait for each other.
  constexpr size_t kFewer = kRows - 1;
  const size_t missing = (kRows - tiles % kRows) % kRows, smaller = tiles >= missing * kFewer ? missing : 0;
  for (size_t p = 0; p < kPositions; ++p, input += kTileStep, weights += kWeightStep, sums += kTileStep) {
    size_t t = 0;
    for (size_t i = 0; i < smaller; ++i, t += kFewer) multiply_rows<kFewer>(input + t * kChannels, weights, fresh, sums + t * kChannels);
    for (; t + kRows <= tiles; t += kRows) multiply_rows<kRows>(input + t * kChannels, weights, fresh, sums + t * kChannels);
    for (; t < tiles; ++t) multiply_rows<1>(input + t * kChannels, weights, fresh, sums + t * kChannels);
  }
}

HWY_NOINLINE Vector activated(Lanes d, Vector x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::silu: return compute::HWY_NAMESPACE::silu_of(d, x);
    case Activation::gelu: return compute::HWY_NAMESPACE::gelu_of(d, x);
    case Activation::quick_gelu: {
      const auto growth = compute::HWY_NAMESPACE::exp_negated(d, hn::Mul(x, hn::Set(d, 1.702F)));
      return hn::Mul(x, compute::HWY_NAMESPACE::reciprocal(d, hn::Add(hn::Set(d, 1.0F), growth)));
    }
  }
  return x;
}

// A row or column of A^T m: kSide results.
template <size_t kSide>
HWY_INLINE void gather_results(Vector m0, Vector m1, Vector m2, Vector m3, Vector* HWY_RESTRICT out, size_t step) {
  const auto sum = hn::Add(m1, m2), difference = hn::Sub(m1, m2);
  out[0] = hn::Add(m0, sum);
  if constexpr (kSide == 2) {
    out[step] = hn::Sub(difference, m3);
  } else {
    out[step] = difference;
    out[2 * step] = hn::Sub(sum, m3);
  }
}

// The place of each result of a tile among a picture's elements; false for those beyond its border.
template <size_t kSide>
struct Targets {
  size_t at[kSide * kSide];
  bool there[kSide * kSide];
};
template <size_t kSide>
HWY_INLINE Targets<kSide> targets_of(const Tiling& tiling, size_t tile, size_t channels) {
  const Place place = place_of(tiling, tile);
  Targets<kSide> out;
  for (size_t i = 0; i < kSide * kSide; ++i) {
    const int64_t row = place.row + static_cast<int64_t>(i / kSide), column = place.column + static_cast<int64_t>(i % kSide);
    out.there[i] = row < tiling.result_height && column < tiling.result_width;
    out.at[i] = static_cast<size_t>((place.picture * tiling.result_height + row) * tiling.result_width + column) * channels;
  }
  return out;
}

template <size_t kSide>
void transform_sums(const Tiling& tiling, const float* HWY_RESTRICT sums, TileRange tiles, const Finish& finish, size_t channels,
                    float* HWY_RESTRICT y) {
  const Lanes d;
  const size_t n = hn::Lanes(d);
  Targets<kSide> next = targets_of<kSide>(tiling, tiles.first, channels);
  for (size_t t = 0; t < tiles.count; ++t) {
    const Targets<kSide> targets = next;
    if (t + 1 < tiles.count) next = targets_of<kSide>(tiling, tiles.first + t + 1, channels);
    for (size_t i = 0; i < kSide * kSide; ++i) {
      if (!next.there[i]) continue;
      for (size_t c = 0; c < kChannels; c += kLine) {
        __builtin_prefetch(y + next.at[i] + c, 1, 3);
        if (finish.residual != nullptr) __builtin_prefetch(finish.residual + next.at[i] + c, 0, 3);
      }
    }
    for (size_t c = 0; c < kChannels; c += n) {
      const float* from = sums + t * kChannels + c;
      Vector rows[kSide * 4], out[kSide * kSide];
#pragma GCC unroll 4
      for (size_t j = 0; j < 4; ++j) {
        const auto at = [&](size_t i) HWY_ATTR { return hn::Load(d, from + (4 * i + j) * kTileStep); };
        gather_results<kSide>(at(0), at(1), at(2), at(3), rows + j, 4);
      }
#pragma GCC unroll 3
      for (size_t i = 0; i < kSide; ++i) {
        gather_results<kSide>(rows[4 * i], rows[4 * i + 1], rows[4 * i + 2], rows[4 * i + 3], out + i * kSide, 1);
      }
      const auto bias = finish.bias != nullptr ? hn::LoadU(d, finish.bias + c) : hn::Zero(d);
#pragma GCC unroll 9
      for (size_t i = 0; i < kSide * kSide; ++i) {
        if (!targets.there[i]) continue;
        auto value = hn::Add(out[i], bias);
        if (finish.activation != Activation::none) value = activated(d, value, finish.activation);
        if (finish.residual != nullptr) value = hn::Add(value, hn::LoadU(d, finish.residual + targets.at[i] + c));
        hn::StoreU(value, d, y + targets.at[i] + c);
      }
    }
  }
}

void transform_result(const Tiling& tiling, const float* sums, TileRange tiles, const Finish& finish, size_t channels, float* y) {
  return tiling.side() == 2 ? transform_sums<2>(tiling, sums, tiles, finish, channels, y)
                            : transform_sums<3>(tiling, sums, tiles, finish, channels, y);
}

}  // namespace veneer::compute::winograd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::compute::winograd {

HWY_EXPORT(transform_input);
HWY_EXPORT(transform_f32);
HWY_EXPORT(transform_f16);
HWY_EXPORT(transform_bf16);
HWY_EXPORT(multiply);
HWY_EXPORT(transform_result);

void transform_input(const Tiling& tiling, const float* x, size_t channels, TileRange tiles, float* values) {
  HWY_DYNAMIC_DISPATCH(transform_input)(tiling, x, channels, tiles, values);
}

void transform_weights(const Tensor& weights, const Tiling& tiling, size_t in, size_t block, size_t first, float* values) {
  const size_t tap_step = in * kChannels, at = block * static_cast<size_t>(tiling.taps * tiling.taps) * tap_step + first * kChannels;
  switch (weights.dtype()) {
    case DType::f16: return HWY_DYNAMIC_DISPATCH(transform_f16)(weights.data<uint16_t>() + at, tiling.taps, tap_step, values);
    case DType::bf16: return HWY_DYNAMIC_DISPATCH(transform_bf16)(weights.data<uint16_t>() + at, tiling.taps, tap_step, values);
    default: return HWY_DYNAMIC_DISPATCH(transform_f32)(weights.data<float>() + at, tiling.taps, tap_step, values);
  }
}

void multiply(const float* input, const float* weights, size_t tiles, bool fresh, float* sums) {
  HWY_DYNAMIC_DISPATCH(multiply)(input, weights, tiles, fresh, sums);
}

void transform_result(const Tiling& tiling, const float* sums, TileRange tiles, const Finish& finish, size_t channels, size_t block, float* y) {
  Finish own = finish;
  const size_t offset = block * kChannels;
  if (own.bias != nullptr) own.bias += offset;
  if (own.residual != nullptr) own.residual += offset;
  HWY_DYNAMIC_DISPATCH(transform_result)(tiling, sums, tiles, own, channels, y + offset);
}

}  // namespace veneer::compute::winograd
#endif
