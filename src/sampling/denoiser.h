// The one thing that samplers know of a model.
#pragma once

#include "tensor/tensor.h"

namespace veneer::sampling {

class ModelSampling;

// x0-prediction at (x, sigma), guidance included. Latents are [N, C, h, w] f32.
class Denoiser {
 public:
  virtual ~Denoiser() = default;
  // The guided prediction. Throws Error(cancelled) when the job was cancelled.
  virtual Tensor denoise(const Tensor& x, float sigma) = 0;
  // The unconditional prediction of the last `denoise` call, before guidance. Only after require_uncond(true); the CFG++ samplers need it.
  virtual Tensor last_uncond() const = 0;
  // When on, the negative conditioning is evaluated even where the guidance scale (1) makes it unnecessary.
  virtual void require_uncond(bool on) = 0;
  virtual const ModelSampling& model_sampling() const = 0;
};

}  // namespace veneer::sampling
