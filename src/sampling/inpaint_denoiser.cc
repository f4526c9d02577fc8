#include "sampling/inpaint_denoiser.h"

#include <span>
#include <utility>

#include "veneer/error.h"

namespace veneer::sampling {
namespace {

void require_shape(const Tensor& tensor, const Shape& shape) {
  if (tensor.defined() && tensor.dtype() == DType::f32 && tensor.shape() == shape) return;
  throw Error(ErrorCode::invalid, "sample: inpainting tensors differ in shape",
              {{"want", shape.to_string()}, {"got", tensor.defined() ? tensor.shape().to_string() : "none"}});
}

// inside * mask + outside * (1 - mask)
Tensor masked(const Tensor& inside, const Tensor& outside, const Tensor& mask) {
  Tensor out = Tensor::empty(inside.shape(), DType::f32);
  const auto to = out.mutable_floats();
  const auto a = inside.floats();
  const auto b = outside.floats();
  const auto m = mask.floats();
  for (size_t i = 0; i < to.size(); ++i) to[i] = a[i] * m[i] + b[i] * (1.0F - m[i]);
  return out;
}

}  // namespace

InpaintDenoiser::InpaintDenoiser(Denoiser& inner, InpaintKeep keep, MaskAt mask_at)
    : inner_(inner), keep_(std::move(keep)), mask_at_(std::move(mask_at)) {
  require_shape(keep_.latent, keep_.latent.shape());
  require_shape(keep_.mask, keep_.latent.shape());
  require_shape(keep_.noise, keep_.latent.shape());
}

Tensor InpaintDenoiser::denoise(const Tensor& x, float sigma) {
  require_shape(x, keep_.latent.shape());
  const Tensor mask = mask_at_ ? mask_at_(keep_.mask, sigma) : keep_.mask;
  require_shape(mask, x.shape());
  const Tensor noised = model_sampling().noise_scaling(std::span(&sigma, 1), keep_.noise, keep_.latent, false);
  const Tensor denoised = inner_.denoise(masked(x, noised, mask), sigma);
  return masked(denoised, keep_.latent, mask);
}

}  // namespace veneer::sampling
