#include "bench/machine_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>

#include "base/parallel.h"
#include "compute/block_cache.h"
#include "compute/weights.h"
#include "tensor/convert.h"

namespace veneer::bench {
namespace {

double best_seconds(int rounds, const std::function<void()>& work) {
  work();
  double best = 1e30;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

// Small values that differ, so that no unit is fed with zeros.
Tensor ramp(const Shape& shape, DType dtype) {
  Tensor tensor = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) tensor.mutable_data<float>()[i] = static_cast<float>(i % 61 - 30) / 64.0F;
  return to_dtype(tensor, dtype);
}

}  // namespace

double matmul_rate(DType dtype, int size, int rounds) {
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const auto linear = compute::Linear::create(ramp({size, size}, dtype), {}, dtype);
  const Tensor x = ramp({size, size}, dtype);
  const double seconds = best_seconds(rounds, [&] { (void)linear->forward(context, x); });
  return 2e-9 * size * size * size / seconds;
}

double convolution_rate(DType dtype, int rounds) {
  compute::BlockCache cache;
  compute::Context context{.scratch = cache, .dtype = dtype};
  const auto conv = compute::Conv2d::create(ramp({320, 320, 3, 3}, dtype), {}, compute::ConvGeometry::same3x3(), dtype);
  const Tensor x = ramp({2, 64, 64, 320}, dtype);
  const double seconds = best_seconds(rounds, [&] { (void)conv->forward(context, x); });
  return 2e-9 * 2 * 64 * 64 * 320 * 320 * 9 / seconds;
}

double copy_bandwidth(int rounds) {
  constexpr size_t kBytes = size_t{256} << 20;
  compute::BlockCache cache;
  const auto from = cache.allocate(kBytes), to = cache.allocate(kBytes);
  std::memset(from.get(), 1, kBytes);
  const double seconds = best_seconds(rounds, [&] {
    parallel_for(kBytes, size_t{1} << 20, [&](size_t begin, size_t end) { std::memcpy(to.get() + begin, from.get() + begin, end - begin); });
  });
  return 2e-9 * static_cast<double>(kBytes) / seconds;
}

double first_touch_rate() {
  constexpr size_t kBytes = size_t{1} << 30;
  // Not from a cache: memory that the process has not had before.
  compute::BlockCache cache;
  const auto block = cache.allocate(kBytes);
  const auto start = std::chrono::steady_clock::now();
  parallel_for(kBytes, size_t{1} << 21, [&](size_t begin, size_t end) { std::memset(block.get() + begin, 0, end - begin); });
  return 1e-9 * static_cast<double>(kBytes) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace veneer::bench
