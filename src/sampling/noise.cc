#include "sampling/noise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "sampling/brownian_tree.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr int64_t kMaxBatchIndex = 1'000'000;

class GeneratorNoise final : public NoiseSource {
 public:
  GeneratorNoise(const Shape& shape, uint64_t seed) : shape_(shape), generator_(seed) {}
  Tensor draw(float /*sigma*/, float /*sigma_next*/) override { return randn(shape_, generator_); }

 private:
  Shape shape_;
  TorchGenerator generator_;
};

class BrownianNoise final : public NoiseSource {
 public:
  BrownianNoise(const Shape& shape, uint64_t seed, float sigma_min, float sigma_max) : tree_(shape, seed, sigma_min, sigma_max) {}

  Tensor draw(float sigma, float sigma_next) override {
    // W runs from small to large times; a step towards smaller sigmas takes the increment with the opposite sign.
    Tensor out = tree_.increment(std::min(sigma, sigma_next), std::max(sigma, sigma_next));
    const float sign = sigma < sigma_next ? 1.0F : -1.0F;
    const float root = std::sqrt(std::abs(sigma_next - sigma));
    if (root == 0.0F) return out;  // all zeros: no way, no noise
    for (float& value : out.mutable_floats()) value = value * sign / root;
    return out;
  }

 private:
  BrownianTree tree_;
};

}  // namespace

Tensor prepare_noise(const Shape& shape, uint64_t seed, std::span<const int64_t> batch_indices, DType dtype) {
  TorchGenerator generator(seed);
  return prepare_noise(shape, generator, batch_indices, dtype);
}

Tensor prepare_noise(const Shape& shape, TorchGenerator& generator, std::span<const int64_t> batch_indices, DType dtype) {
  if (batch_indices.empty()) return randn(shape, generator, dtype);
  if (shape.rank() == 0) throw Error(ErrorCode::invalid, "noise: batch indices need a batch dimension");
  for (const int64_t index : batch_indices) {
    if (index < 0 || index > kMaxBatchIndex) {
      throw Error(ErrorCode::invalid, "noise: batch index out of range", {{"index", std::to_string(index)}, {"max", std::to_string(kMaxBatchIndex)}});
    }
  }
  const Shape row_shape = shape.with(0, 1);
  Tensor out = Tensor::empty(shape.with(0, static_cast<int64_t>(batch_indices.size())), dtype);
  const int64_t last = *std::max_element(batch_indices.begin(), batch_indices.end());
  std::multimap<int64_t, size_t> rows;
  for (size_t row = 0; row < batch_indices.size(); ++row) rows.emplace(batch_indices[row], row);
  for (int64_t index = 0; index <= last; ++index) {
    // Drawn whether it is wanted or not: later indices depend on it.
    const Tensor row_noise = randn(row_shape, generator, dtype);
    const auto [first, end] = rows.equal_range(index);
    for (auto it = first; it != end; ++it) {
      std::memcpy(out.mutable_bytes() + it->second * row_noise.size_bytes(), row_noise.bytes(), row_noise.size_bytes());
    }
  }
  return out;
}

std::unique_ptr<NoiseSource> make_generator_noise(const Shape& shape, uint64_t seed) { return std::make_unique<GeneratorNoise>(shape, seed); }

std::unique_ptr<NoiseSource> make_brownian_noise(const Shape& shape, uint64_t seed, float sigma_min, float sigma_max) {
  return std::make_unique<BrownianNoise>(shape, seed, sigma_min, sigma_max);
}

}  // namespace veneer::sampling
