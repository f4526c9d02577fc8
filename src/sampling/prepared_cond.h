// Prompts made ready for a run over latents of one shape: areas and masks in latent elements, times as noise levels, and areas in both lists.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sampling/conditioning.h"
#include "sampling/model_sampling.h"

namespace veneer::sampling {

struct PreparedCond {
  Tensor context;           // [n, tokens, width] f32
  Tensor pooled;            // [n, P] f32, or undefined
  Tensor extra_channels;    // [n, K, h, w] f32 of the latent's size, or undefined
  std::optional<Box> area;  // as asked for; may reach over the border
  Tensor mask;              // [M, h, w] f32 of the latent's size, or undefined
  float strength = 1;
  float mask_strength = 1;
  double sigma_start = 0;  // holds while sigma_end <= sigma <= sigma_start
  double sigma_end = 0;
  std::shared_ptr<const CondHooks> hooks;
  bool is_default = false;
  std::shared_ptr<const Control> control;
  bool control_apply_to_uncond = false;
};

struct PreparedConds {
  std::vector<PreparedCond> positive;
  std::vector<PreparedCond> negative;
};

// latent: [N, C, h, w]. Every area of one list gets a counterpart in the other: the same area, weight, time, hooks and control with the prompt of
// the smallest entry around it. A control of a positive entry with control_apply_to_uncond goes to the negative entries without areas. Throws
// Error(invalid) for an area that is empty or outside of the latent, a mask with NaN, numbers that are not finite, or tensors of a wrong rank.
PreparedConds prepare_conds(const Conditioning& positive, const Conditioning& negative, const Shape& latent, const ModelSampling& model_sampling);

}  // namespace veneer::sampling
