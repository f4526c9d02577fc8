// torch's CPU random numbers: the same seed gives the same noise, so pictures can be repeated across programs.
//
// Source: the Mersenne Twister MT19937 of Matsumoto and Nishimura (1998), Box and Muller (1958), and the way torch draws from them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "tensor/tensor.h"

namespace veneer::sampling {

// A stream of random values. Only the low 32 bits of the seed count. One generator belongs to one thread; a copy goes on independently.
class TorchGenerator {
 public:
  explicit TorchGenerator(uint64_t seed) { manual_seed(seed); }
  // Starts over; drops a cached normal.
  void manual_seed(uint64_t seed);
  // The next 32 random bits.
  uint32_t random_u32();
  // The next 64 random bits: two draws, the first is the high half.
  uint64_t random_u64();
  // Uniform in [0, 1), 24 bits, one draw.
  float uniform_f32() { return static_cast<float>(random_u32() & 0xffffffU) * 0x1p-24F; }
  // Uniform in [0, 1), 53 bits, two draws.
  double uniform_f64() { return static_cast<double>(random_u64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  // Standard normal in double precision, by pairs: every second call returns the cached half.
  double normal_f64();

 private:
  static constexpr size_t kStateSize = 624;
  void refill();

  std::array<uint32_t, kStateSize> state_{};
  size_t next_ = 0;
  std::optional<double> cached_normal_;
};

// Standard normals of any shape; dtype f32, f16 or bf16, else Error(unsupported). From 16 elements on, f32 values agree with torch's vectorised
// code to a few 1e-6, below that to the last bit but one.
Tensor randn(const Shape& shape, TorchGenerator& generator, DType dtype = DType::f32);
// Uniform in [0, 1): f32, f16 or bf16, else Error(unsupported). Bit for bit torch's.
Tensor rand(const Shape& shape, TorchGenerator& generator, DType dtype = DType::f32);

}  // namespace veneer::sampling
