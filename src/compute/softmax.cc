#include "compute/softmax.h"

#include <algorithm>

#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/softmax.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

// Runs below are of whole vectors of every target: kSoftmaxUnit scores.

// max over i of s[i] * factor.
HWY_INLINE float scaled_max(const float* s, size_t count, float factor) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  const auto f = hn::Set(d, factor);
  auto m0 = hn::Mul(f, hn::LoadU(d, s)), m1 = m0, m2 = m0, m3 = m0;
  size_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n) {
    m0 = hn::Max(m0, hn::Mul(f, hn::LoadU(d, s + i)));
    m1 = hn::Max(m1, hn::Mul(f, hn::LoadU(d, s + i + n)));
    m2 = hn::Max(m2, hn::Mul(f, hn::LoadU(d, s + i + 2 * n)));
    m3 = hn::Max(m3, hn::Mul(f, hn::LoadU(d, s + i + 3 * n)));
  }
  for (; i < count; i += n) m0 = hn::Max(m0, hn::Mul(f, hn::LoadU(d, s + i)));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
}

// p[i] = 2^(s[i] * factor - most); returns their sum. bf16 weights carry 8 bits, so a polynomial of degree 3 serves them.
HWY_INLINE float exponentials(const float* s, size_t count, float factor, float most, uint16_t* p) {
  const hn::ScalableTag<float> d;
  const size_t n = hn::Lanes(d);
  const auto f = hn::Set(d, factor), offset = hn::Set(d, -most);
  const auto one = [&](size_t i) HWY_ATTR {
    const auto e = exp2_scaled<3>(d, hn::LoadU(d, s + i), f, offset);
    store_weight(d, e, p + i);
    return e;
  };
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t i = 0;
  for (; i + 4 * n <= count; i += 4 * n) {
    s0 = hn::Add(s0, one(i));
    s1 = hn::Add(s1, one(i + n));
    s2 = hn::Add(s2, one(i + 2 * n));
    s3 = hn::Add(s3, one(i + 3 * n));
  }
  for (; i < count; i += n) s0 = hn::Add(s0, one(i));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
}

void step(const SoftmaxTile& tile, uint16_t* weights) {
  const hn::CappedTag<float, 1> d1;
  const auto keys = static_cast<int64_t>(tile.keys);
  constexpr auto kUnit = static_cast<int64_t>(kSoftmaxUnit);
  // So small when scaled that its exponential vanishes next to that of any score.
  const float masked = tile.factor < 0 ? 1e30F : -1e30F;
  for (size_t r = 0; r < tile.rows; ++r) {
    float* s = tile.scores + r * tile.stride;
    uint16_t* p = weights + r * tile.stride;
    const int64_t end = std::clamp<int64_t>(tile.last_key + static_cast<int64_t>(r), 0, keys), begin = std::min(tile.first_key, end);
    if (begin < end) {
      const int64_t first = begin / kUnit * kUnit, stop = (end + kUnit - 1) / kUnit * kUnit;
      std::fill(s + first, s + begin, masked);
      std::fill(s + end, s + stop, masked);
      const auto count = static_cast<size_t>(stop - first);
      const float most = std::max(tile.most[r], scaled_max(s + first, count, tile.factor));
      const float sum = exponentials(s + first, count, tile.factor, most, p + first);
      if (most != tile.most[r]) {
        const float shrink = hn::GetLane(exp2_scaled<6>(d1, hn::Set(d1, tile.most[r] - most), hn::Set(d1, 1.0F), hn::Zero(d1)));
        float* gathered = tile.gathered + r * tile.head_dim;
        for_each_vector(tile.head_dim,
                        [&](auto d, size_t i) HWY_ATTR { hn::StoreU(hn::Mul(hn::LoadU(d, gathered + i), hn::Set(d, shrink)), d, gathered + i); });
        tile.total[r] *= shrink;
        tile.most[r] = most;
      }
      tile.total[r] += sum;
    }
    std::fill(p, p + begin, uint16_t{0});
    std::fill(p + end, p + keys, uint16_t{0});
  }
}

void finish(const SoftmaxTile& tile, size_t first, uint16_t* y, size_t stride) {
  for (size_t r = first; r < tile.rows; ++r, y += stride) {
    const float* gathered = tile.gathered + r * tile.head_dim;
    const float inverse = 1.0F / tile.total[r];
    for_each_vector(tile.head_dim, [&](auto d, size_t i) HWY_ATTR { store(d, hn::Mul(hn::LoadU(d, gathered + i), hn::Set(d, inverse)), y + i); });
  }
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::compute {

HWY_EXPORT(step);
HWY_EXPORT(finish);

void softmax_step(const SoftmaxTile& tile, uint16_t* weights) { HWY_DYNAMIC_DISPATCH(step)(tile, weights); }
void softmax_finish(const SoftmaxTile& tile, size_t begin, uint16_t* y, size_t stride) { HWY_DYNAMIC_DISPATCH(finish)(tile, begin, y, stride); }

}  // namespace veneer::compute
#endif
