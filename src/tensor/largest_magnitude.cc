// Without their signs, floats are in the order of their bits, infinity behind all numbers and NaN behind infinity.
#include "tensor/largest_magnitude.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/parallel.h"
#include "tensor/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/largest_magnitude.cc"
#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace veneer::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

uint32_t largest_bits(const float* values, size_t stride, size_t rows, size_t columns) {
  const hn::ScalableTag<int32_t> d;
  const size_t lanes = hn::Lanes(d);
  const auto no_sign = hn::Set(d, 0x7fffffff);
  auto most0 = hn::Zero(d), most1 = most0;
  uint32_t rest = 0;
  for (size_t row = 0; row < rows; ++row, values += stride) {
    const auto* bits = reinterpret_cast<const int32_t*>(values);
    size_t i = 0;
    for (; i + 2 * lanes <= columns; i += 2 * lanes) {
      most0 = hn::Max(most0, hn::And(hn::LoadU(d, bits + i), no_sign));
      most1 = hn::Max(most1, hn::And(hn::LoadU(d, bits + i + lanes), no_sign));
    }
    for (; i < columns; ++i) rest = std::max(rest, std::bit_cast<uint32_t>(values[i]) & 0x7fffffffU);
  }
  return std::max(rest, static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(d, hn::Max(most0, most1)))));
}

}  // namespace veneer::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace veneer {
namespace kernels {
namespace {

HWY_EXPORT(largest_bits);

uint32_t largest_of(const float* values, size_t count) { return HWY_DYNAMIC_DISPATCH(largest_bits)(values, count, 1, count); }
uint32_t largest_of_rows(const float* values, size_t stride, size_t rows, size_t columns) {
  return HWY_DYNAMIC_DISPATCH(largest_bits)(values, stride, rows, columns);
}

}  // namespace
}  // namespace kernels

float largest_magnitude(std::span<const float> values) {
  // Most spans are parts of a weight that one thread has in its cache.
  constexpr size_t kSerial = size_t{1} << 17;
  if (values.size() <= kSerial) return std::bit_cast<float>(kernels::largest_of(values.data(), values.size()));
  std::atomic<uint32_t> largest{0};
  parallel_for(values.size(), kSerial, [&](size_t begin, size_t end) {
    const uint32_t most = kernels::largest_of(values.data() + begin, end - begin);
    uint32_t seen = largest.load();
    while (seen < most && !largest.compare_exchange_weak(seen, most)) {
    }
  });
  return std::bit_cast<float>(largest.load());
}

float largest_magnitude(const float* values, size_t stride, size_t rows, size_t columns) {
  return std::bit_cast<float>(kernels::largest_of_rows(values, stride, rows, columns));
}

float largest_magnitude(const Tensor& tensor) {
  if (tensor.plain_dtype() != DType::f16 || !tensor.aligned()) return largest_magnitude(to_dtype(tensor, DType::f32).floats());
  // The same order holds for halves; only the largest one is converted.
  const auto* halves = tensor.data<uint16_t>();
  int16_t most = 0;
  for (int64_t i = 0; i < tensor.num_elements(); ++i) most = std::max(most, static_cast<int16_t>(halves[i] & 0x7fff));
  Tensor largest = Tensor::empty({1}, DType::f16);
  *largest.mutable_data<uint16_t>() = static_cast<uint16_t>(most);
  return to_dtype(largest, DType::f32).floats()[0];
}

}  // namespace veneer
#endif  // HWY_ONCE
