// Hooks into guidance that belong to a variant of a model. Each carries an id: two hooks are the same exactly when their ids are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/fingerprint.h"
#include "sampling/network.h"
#include "tensor/tensor.h"

namespace veneer::sampling {

class ModelSampling;
struct RunState;

template <typename Signature>
struct Hook {
  Fingerprint id;
  std::function<Signature> fn;
};

// The clean latents that the two lists of prompts predict.
struct Predictions {
  Tensor cond;
  Tensor uncond;  // undefined when the negative list was not evaluated
};

// What a hook wants to have evaluated besides what was: at latents of its own, by a changed network, or other prompts.
struct Evaluation {
  enum class Prompts : uint8_t { positive, negative, other };
  Prompts prompts = Prompts::positive;
  const Conditioning* other = nullptr;      // for Prompts::other
  Tensor x = {};                            // undefined: the call's own
  const NetworkOverlay* overlay = nullptr;  // null: the network as it is
};

// One evaluation, as hooks see it. Valid for the call.
struct GuidanceCall {
  const Tensor& x;  // [N, C, h, w]
  float sigma = 0;
  double scale = 1;
  const Predictions& predictions;
  const ModelSampling& model_sampling;
  // The prediction of a list of prompts at the call's noise level; counts as a call of its own, of a positive list. Throws Error(invalid) for an
  // empty list and for latents of another shape.
  const std::function<Tensor(const Evaluation&)>& evaluate;
  // What the run's functions keep. The same object at every call of a run.
  RunState& run;
};

struct GuidanceOptions {
  // Instead of uncond + (cond - uncond) * scale; returns the clean latent. (Hooks written for "x - denoised" return x minus their result.)
  std::optional<Hook<Tensor(const GuidanceCall&)>> cfg_function;
  // Instead of the evaluation of both lists of prompts; `inner` is what would run without it. Returns the predictions for (x, sigma).
  using PredictAt = std::function<Predictions(const Tensor& x, float sigma)>;
  std::optional<Hook<Predictions(const PredictAt& inner, const Tensor& x, float sigma)>> calc_cond_batch;
  // Change the predictions before guidance, in order.
  std::vector<Hook<Predictions(const GuidanceCall&)>> pre_cfg;
  // Change the guided result, in order.
  std::vector<Hook<Tensor(const GuidanceCall&, const Tensor& denoised)>> post_cfg;
  // Around each evaluation: gets what computes the clean latents of a batch, and the batch with x not yet scaled for the network.
  using Apply = std::function<Tensor(const DenoiseBatch&)>;
  std::optional<Hook<Tensor(const Apply&, const DenoiseBatch&)>> unet_wrapper;
  // The inpainting mask to use at a noise level. `sigmas`: those of the run.
  std::optional<Hook<Tensor(const Tensor& mask, float sigma, std::span<const float> sigmas)>> denoise_mask_function;
  // Evaluates the negative list also where scale 1 makes it unnecessary.
  bool disable_cfg1_optimization = false;

  bool empty() const;
  Fingerprint fingerprint() const;
};

}  // namespace veneer::sampling
