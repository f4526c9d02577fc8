#include "sampling/rng.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

constexpr size_t kBlock = 16;  // torch's vector code transforms 16 uniforms at once: 8 pairs

// Box-Muller on one block in place: pair j is (block[j], block[j + 8]).
void transform_block(float* block) {
  for (size_t j = 0; j < kBlock / 2; ++j) {
    const float u1 = 1.0F - block[j];  // (0, 1]: the log is finite
    const float u2 = block[j + kBlock / 2];
    const float radius = std::sqrt(-2.0F * std::log(u1));
    const float theta = 2.0F * std::numbers::pi_v<float> * u2;
    block[j] = radius * std::cos(theta);
    block[j + kBlock / 2] = radius * std::sin(theta);
  }
}

void fill_uniform(std::span<float> out, TorchGenerator& generator) {
  for (float& value : out) value = generator.uniform_f32();
}

// From 16 elements on. f32 draws all uniforms before it transforms; the half types (`whole_blocks_only`) draw a block at a time and leave the rest
// to the tail. A remainder is made by 16 new draws over the last 16 elements.
void fill_normal_blocks(std::span<float> out, TorchGenerator& generator, bool whole_blocks_only) {
  const size_t whole = out.size() / kBlock * kBlock;
  fill_uniform(whole_blocks_only ? out.first(whole) : out, generator);
  for (size_t i = 0; i < whole; i += kBlock) transform_block(out.data() + i);
  if (whole == out.size()) return;
  const std::span<float> tail = out.last(kBlock);
  fill_uniform(tail, generator);
  transform_block(tail.data());
}

bool is_half(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }

void require_dtype(DType dtype) {
  if (dtype == DType::f32 || is_half(dtype)) return;
  throw Error(ErrorCode::unsupported, "rng: random values exist for f32, f16 and bf16", {{"dtype", std::string(to_string(dtype))}});
}

}  // namespace

void TorchGenerator::manual_seed(uint64_t seed) {
  constexpr uint32_t kInitMultiplier = 1812433253U;
  state_[0] = static_cast<uint32_t>(seed);
  for (size_t i = 1; i < kStateSize; ++i) {
    state_[i] = kInitMultiplier * (state_[i - 1] ^ (state_[i - 1] >> 30)) + static_cast<uint32_t>(i);
  }
  next_ = kStateSize;
  cached_normal_.reset();
}

void TorchGenerator::refill() {
  constexpr size_t kShift = 397;
  constexpr uint32_t kTwist = 0x9908b0dfU;
  for (size_t i = 0; i < kStateSize; ++i) {
    const uint32_t mixed = (state_[i] & 0x80000000U) | (state_[(i + 1) % kStateSize] & 0x7fffffffU);
    state_[i] = state_[(i + kShift) % kStateSize] ^ (mixed >> 1) ^ ((mixed & 1U) != 0 ? kTwist : 0U);
  }
  next_ = 0;
}

uint32_t TorchGenerator::random_u32() {
  if (next_ == kStateSize) refill();
  uint32_t y = state_[next_++];
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680U;
  y ^= (y << 15) & 0xefc60000U;
  return y ^ (y >> 18);
}

uint64_t TorchGenerator::random_u64() {
  const uint64_t high = random_u32();
  return (high << 32) | random_u32();
}

double TorchGenerator::normal_f64() {
  if (cached_normal_) {
    const double value = *cached_normal_;
    cached_normal_.reset();
    return value;
  }
  const double u1 = uniform_f64();
  const double u2 = uniform_f64();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2));
  const double theta = 2.0 * std::numbers::pi * u1;
  cached_normal_ = radius * std::sin(theta);
  return radius * std::cos(theta);
}

Tensor randn(const Shape& shape, TorchGenerator& generator, DType dtype) {
  require_dtype(dtype);
  Tensor out = Tensor::empty(shape, DType::f32);
  const std::span<float> values = out.mutable_floats();
  if (values.size() < kBlock) {
    for (float& value : values) value = static_cast<float>(generator.normal_f64());
  } else {
    fill_normal_blocks(values, generator, is_half(dtype));
  }
  return to_dtype(out, dtype);
}

Tensor rand(const Shape& shape, TorchGenerator& generator, DType dtype) {
  require_dtype(dtype);
  Tensor out = Tensor::empty(shape, DType::f32);
  fill_uniform(out.mutable_floats(), generator);
  if (dtype == DType::f32) return out;
  // A value that would round to 1 becomes 0: the range stays half open.
  const float rounds_to_one = dtype == DType::f16 ? 1.0F - 0x1p-12F : 1.0F - 0x1p-9F;
  for (float& value : out.mutable_floats()) {
    if (value >= rounds_to_one) value = 0.0F;
  }
  return to_dtype(out, dtype);
}

}  // namespace veneer::sampling
