// Inpainting with a model that knows nothing of it: outside of the mask the latents are put back at every evaluation.
#pragma once

#include <functional>

#include "sampling/denoiser.h"
#include "sampling/model_sampling.h"

namespace veneer::sampling {

// What inpainting keeps, all [N, C, h, w] f32: the mask is 1 where new content is wanted; `noise` brings the kept latent to a noise level.
struct InpaintKeep {
  Tensor mask;
  Tensor latent;
  Tensor noise;
};

// Wraps a denoiser, which has to outlive it.
class InpaintDenoiser final : public Denoiser {
 public:
  // The mask to use at a noise level, from the one of `keep`; empty: always that one.
  using MaskAt = std::function<Tensor(const Tensor& mask, float sigma)>;

  // Throws Error(invalid) unless the tensors of `keep` have one shape.
  InpaintDenoiser(Denoiser& inner, InpaintKeep keep, MaskAt mask_at = {});

  Tensor denoise(const Tensor& x, float sigma) override;
  Tensor last_uncond() const override { return inner_.last_uncond(); }
  void require_uncond(bool on) override { inner_.require_uncond(on); }
  const ModelSampling& model_sampling() const override { return inner_.model_sampling(); }

 private:
  Denoiser& inner_;
  InpaintKeep keep_;
  MaskAt mask_at_;
};

}  // namespace veneer::sampling
