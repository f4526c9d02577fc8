// A Brownian path that can be asked for any increment, in any order, and always answers from the same path.
//
// Source: Levy's bridge construction on a binary tree of halves, seeded per node, as torchsde's BrownianTree does it (Kidger et al. 2021, "Efficient
// and Accurate Gradients for Neural SDEs"), with its tolerance 1e-6 and its seeds, so that a seed gives the same noise as there.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace veneer::sampling {

// Immutable; increments are computed anew at each call from the root (about 2*log2(range / 1e-6) normal tensors), nothing else is kept.
class BrownianTree {
 public:
  // Paths of independent components of `shape` over [start, end]. Throws Error(invalid) unless start <= end, both finite, and end - start <= 1e9.
  BrownianTree(const Shape& shape, uint64_t seed, double start, double end);
  // W(to) - W(from) for from <= to, f32; times are clamped to the interval and rounded to 1e-6. Zeros for an empty interval.
  Tensor increment(double from, double to) const;

 private:
  struct Node;
  Tensor normal(uint32_t seed) const;
  void add_covered(const Node& node, const Tensor& increment, double from, double to, Tensor& sum) const;

  Shape shape_;
  uint64_t seed_;
  double start_;  // rounded
  double end_;    // rounded
  Tensor total_;  // W(end) - W(start)
};

}  // namespace veneer::sampling
