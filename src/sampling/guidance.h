// CfgDenoiser: classifier-free guidance (Ho and Salimans 2022) over lists of prompts, as the Denoiser that samplers walk with.
#pragma once

#include "base/cancel.h"
#include "sampling/cond_batch.h"
#include "sampling/denoiser.h"
#include "sampling/guidance_options.h"
#include "sampling/model_sampling.h"
#include "sampling/network.h"
#include "sampling/run_state.h"

namespace veneer::sampling {

struct GuidanceSetup {
  const ModelSampling& model_sampling;  // has to outlive the denoiser
  Network network;
  GuidanceOptions options = {};
  double scale = 1.0;  // 1: only the positive list is evaluated, unless somebody asks for the other
  CancelToken cancel = {};
  std::vector<float> run_sigmas = {};         // for NetworkInput
  TorchGenerator random = TorchGenerator(0);  // for RunState
};

// One per run, used by one thread at a time.
class CfgDenoiser final : public Denoiser {
 public:
  // latent: [N, C, h, w], the shape of every x to come. Errors as prepare_conds; also Error(invalid) for a scale that is not finite, an empty
  // positive list, and later, when the negative list is needed and empty.
  CfgDenoiser(GuidanceSetup setup, const Conditioning& positive, const Conditioning& negative, const Shape& latent);

  Tensor denoise(const Tensor& x, float sigma) override;
  Tensor last_uncond() const override { return last_uncond_; }
  void require_uncond(bool on) override { require_uncond_ = on; }
  const ModelSampling& model_sampling() const override { return setup_.model_sampling; }

 private:
  Tensor apply(const DenoiseBatch& batch, const NetworkOverlay* overlay);
  Predictions predict(const Tensor& x, float sigma);
  Predictions predict_with_hook(const Tensor& x, float sigma);
  Tensor evaluate(const Evaluation& wanted, const Tensor& x, float sigma);
  Tensor evaluate_list(const std::vector<PreparedCond>& list, const Tensor& x, float sigma, const NetworkOverlay* overlay);

  GuidanceSetup setup_;
  PreparedConds conds_;
  Shape latent_;
  RunState run_;
  bool require_uncond_ = false;
  Tensor last_uncond_;
};

}  // namespace veneer::sampling
