// Ready-to-run forms of a module's weights, as the resident set holds them.
#pragma once

#include <memory>

#include "compute/weights.h"
#include "residency/resident.h"
#include "variant/model_view.h"

namespace veneer::variant {

struct ResidentLinear final : residency::Resident {
  explicit ResidentLinear(std::shared_ptr<const compute::Linear> packed) : weights(std::move(packed)) {}
  size_t size_bytes() const override { return weights->size_bytes(); }
  std::shared_ptr<const compute::Linear> weights;
};

struct ResidentConv2d final : residency::Resident {
  explicit ResidentConv2d(std::shared_ptr<const compute::Conv2d> packed) : weights(std::move(packed)) {}
  size_t size_bytes() const override { return weights->size_bytes(); }
  std::shared_ptr<const compute::Conv2d> weights;
};

struct ResidentNorm final : residency::Resident {
  explicit ResidentNorm(NormWeights norm) : weights(std::move(norm)) {}
  size_t size_bytes() const override { return weights.weight.size_bytes() + weights.bias.size_bytes(); }
  NormWeights weights;
};

// A patched table; an unpatched one is a view into the file and needs no residency.
struct ResidentTable final : residency::Resident {
  explicit ResidentTable(Tensor patched) : table(std::move(patched)) {}
  size_t size_bytes() const override { return table.size_bytes(); }
  Tensor table;
};

// The factors of a low-rank patch, to run beside a linear layer or a convolution. Strengths are not part of it. Matrices are used as the adapter
// holds them; only a first factor that is a convolution over more than one pixel is packed.
struct ResidentBranch final : residency::Resident {
  ResidentBranch(std::shared_ptr<const compute::Linear> a, std::shared_ptr<const compute::Linear> b) : linear_down(std::move(a)), up(std::move(b)) {}
  ResidentBranch(std::shared_ptr<const compute::Conv2d> a, std::shared_ptr<const compute::Linear> b) : conv_down(std::move(a)), up(std::move(b)) {}
  size_t size_bytes() const override { return (linear_down ? linear_down->size_bytes() : conv_down->size_bytes()) + up->size_bytes(); }
  // One of the two; [..., in] -> [..., rank], and [N, H, W, in] -> [N, H', W', rank].
  std::shared_ptr<const compute::Linear> linear_down;
  std::shared_ptr<const compute::Conv2d> conv_down;
  std::shared_ptr<const compute::Linear> up;
};

}  // namespace veneer::variant
