// The noise that starts a run, and the noise that stochastic samplers add on their way.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "sampling/rng.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

// The starting noise for latents of `shape` ([N, C, h, w] or any other with N first), f32, f16 or bf16.
// Without batch indices: one draw over the whole shape. With them: the noise of picture i of a large batch is the i-th draw of [1, C, h, w], so a
// part of a batch can be made again alone; the result has one row per index, in list order (equal indices share their noise).
// Throws Error(invalid) for a negative index or one above 1,000,000.
Tensor prepare_noise(const Shape& shape, uint64_t seed, std::span<const int64_t> batch_indices = {}, DType dtype = DType::f32);
// The same, drawn from a generator, which goes on from there.
Tensor prepare_noise(const Shape& shape, TorchGenerator& generator, std::span<const int64_t> batch_indices = {}, DType dtype = DType::f32);

// Noise for one step of a sampler. Not thread-safe: one source per run.
class NoiseSource {
 public:
  virtual ~NoiseSource() = default;
  // Unit-variance noise of the latents' shape, f32, for the way from `sigma` to `sigma_next`.
  virtual Tensor draw(float sigma, float sigma_next) = 0;
};

// One randn per draw from a generator, whatever the sigmas. With the seed of prepare_noise the first draw equals the starting noise, as in the
// reference.
std::unique_ptr<NoiseSource> make_generator_noise(const Shape& shape, uint64_t seed);

// Increments of one Brownian path over [sigma_min, sigma_max], divided by the root of their length (torchsde's BrownianTree, see brownian_tree.h):
// steps that share an end share their noise, so a finer schedule follows the same path.
std::unique_ptr<NoiseSource> make_brownian_noise(const Shape& shape, uint64_t seed, float sigma_min, float sigma_max);

}  // namespace veneer::sampling
