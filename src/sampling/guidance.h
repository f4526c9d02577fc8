// CfgDenoiser: classifier-free guidance (Ho and Salimans 2022) over lists of prompts, as the Denoiser that samplers walk with.
#pragma once

#include "base/cancel.h"
#include "sampling/cond_batch.h"
#include "sampling/denoiser.h"
#include "sampling/guidance_options.h"
#include "sampling/model_sampling.h"
#include "sampling/network.h"

namespace veneer::sampling {

struct GuidanceSetup {
  const ModelSampling& model_sampling;  // has to outlive the denoiser
  Network network;
  GuidanceOptions options = {};
  double scale = 1.0;  // 1: only the positive list is evaluated, unless somebody asks for the other
  CancelToken cancel = {};
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
  Tensor apply(const Network& network, const DenoiseBatch& batch) const;
  Predictions predict(const Tensor& x, float sigma) const;
  Tensor evaluate_cond(const Network& network, const Tensor& x, float sigma) const;

  GuidanceSetup setup_;
  PreparedConds conds_;
  Shape latent_;
  bool require_uncond_ = false;
  Tensor last_uncond_;
};

}  // namespace veneer::sampling
