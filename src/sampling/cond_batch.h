// Evaluating lists of prompts at one noise level: crops, weights, batching, and the weighted mean of what comes back.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sampling/network.h"
#include "sampling/prepared_cond.h"

namespace veneer::sampling {

// One prompt at work: where it looks and how much it counts there.
struct CondJob {
  const PreparedCond* cond = nullptr;
  int list = 0;    // which of the lists it belongs to
  Box box;         // within the latent
  Tensor weights;  // [R, box.height, box.width] f32; row n of the batch takes row n % R
};

// The job of a prompt at `sigma` on latents [N, C, h, w], or none when it does not hold at that noise level. Weights are strength, times the mask;
// or, for an area without a mask, ramps over min(8, size / 4) elements at the sides that are not at the latent's border.
std::optional<CondJob> make_job(const PreparedCond& cond, int list, const Shape& latent, float sigma);

// Whether both can be evaluated in one batch: equal crops, tensors, hooks and control, and token counts with a small common multiple.
bool can_batch(const CondJob& a, const CondJob& b);

// For each list the weighted mean of its prompts' clean latents, [N, C, h, w]; 0 where nothing covers, and everywhere for a null list. A list's
// default prompts get the weight that its others leave of 1; where that is nowhere any they are not evaluated.
// `apply` computes clean latents of a batch (see DenoiseBatch) and is called once per set of prompts that can_batch allows.
std::vector<Tensor> evaluate_conds(std::span<const std::vector<PreparedCond>* const> lists, const Tensor& x, float sigma,
                                   const std::function<Tensor(const DenoiseBatch&)>& apply);

}  // namespace veneer::sampling
