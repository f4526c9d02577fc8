// A diffusion network so small that a run takes milliseconds, and what its variants give.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/cancel.h"
#include "models/unet/unet.h"
#include "tensor/tensor.h"
#include "variant/model_patcher.h"

namespace veneer::testing {

struct TinyModel {
  std::shared_ptr<const models::Unet> network;
  std::shared_ptr<const variant::BaseModel> base;
};

enum class TinySize : uint8_t { one_level, two_levels };

// 32 channels, and 64 at the second level; text width 24; random weights, norms and biases among them, stored in `stored`.
TinyModel tiny_model(TinySize size = TinySize::two_levels, DType stored = DType::f32, uint32_t seed = 1);

// Compute dtype f32, a resident set of its own.
std::shared_ptr<const variant::Runtime> runtime_with(size_t memory_budget, variant::LoraApplyMode mode = variant::LoraApplyMode::materialised,
                                                     variant::ResidencyMode residency = variant::ResidencyMode::classic);

struct TinyRun {
  int steps = 3;
  int64_t batch = 1;
  double cfg = 3;
  uint64_t seed = 5;
  Allocator* scratch = nullptr;  // null: the system's
  CancelToken cancel = {};
};

// The latents at the end of an euler run with two random prompts, by the way that the sampler nodes go.
Tensor sample_latents(const TinyModel& model, const variant::ModelPatcher& patcher, const TinyRun& run = {});

// One evaluation of two rows of random input.
Tensor evaluate(const TinyModel& model, variant::ModelView& view);

bool same_bits(const Tensor& a, const Tensor& b);
// Root of the mean square of a - b, relative to that of b.
double relative_distance(const Tensor& a, const Tensor& b);

// The largest ready-to-run module of those in a resident set, its side branches included. The set is to hold one variant only.
size_t largest_module(const residency::ResidentSet& residents);

}  // namespace veneer::testing
