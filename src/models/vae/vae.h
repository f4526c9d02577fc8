// The KL autoencoder between images and latents.
#pragma once

#include <functional>
#include <string>

#include "compute/context.h"
#include "models/vae/structure.h"
#include "tensor/tensor.h"
#include "variant/model_view.h"

namespace veneer::models {

struct VaeCallExtras {
  // Called between blocks; may throw (Error(cancelled)) to end the call.
  std::function<void()> checkpoint;
  // Called with the result of "decoder.conv_in", "decoder.mid.attn_1", "encoder.down.0.downsample", ...: [1, h, w, C] in the context's dtype, once
  // for each element of the batch.
  std::function<void(const std::string& name, const Tensor& nhwc)> observe;
};

// Immutable; one object may serve several threads at once, each with its own view and context. Elements of a batch run one by one, so the memory that
// a call needs does not grow with the batch.
//
// Latents are in the autoencoder's own space: the factor of the model family (0.18215) is not in them.
class Vae {
 public:
  explicit Vae(VaeConfig config) : config_(std::move(config)), structure_(build_vae_structure(config_)) {}

  const VaeConfig& config() const { return config_; }
  const Architecture& architecture() const { return structure_.architecture; }

  // image: [B, H, W, 3] f32 in 0..1 (a fourth channel is ignored), cut centrally to multiples of downscale(). Returns mean and log-variance of the
  // posterior, [B, 2 * latent_channels, h, w] f32. Throws Error(invalid) for another shape or an image smaller than one latent.
  Tensor encode_moments(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras = {}) const;
  // The posterior's mean: [B, latent_channels, h, w] f32.
  Tensor encode(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras = {}) const;

  // latent: [B, latent_channels, h, w] f32. Returns the decoder's output, about -1..1: [B, H, W, 3] f32.
  Tensor decode_raw(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras = {}) const;
  // clamp((raw + 1) / 2, 0, 1): [B, H, W, 3] f32.
  Tensor decode(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras = {}) const;

  // One element without any cutting: image [1, H, W, 3] f32 in 0..1 -> moments [1, h, w, 2 * latent_channels] f32, h = H / downscale() rounded down.
  Tensor encode_element(variant::ModelView& view, compute::Context& context, const Tensor& image, const VaeCallExtras& extras) const;
  // One element: [1, latent_channels, h, w] f32 -> [1, H, W, 3] f32, raw.
  Tensor decode_element(variant::ModelView& view, compute::Context& context, const Tensor& latent, const VaeCallExtras& extras) const;

  // Throw Error(invalid) unless the tensor is what encode or decode take.
  void check_image(const Tensor& image) const;
  void check_latent(const Tensor& latent) const;

 private:
  VaeConfig config_;
  VaeStructure structure_;
};

// The posterior that moments [B, 2 C, h, w] describe: mean and exp(0.5 * clamp(log-variance, -30, 20)), each [B, C, h, w] f32.
struct Posterior {
  Tensor mean, std;
};
Posterior posterior_of(const Tensor& moments);
// mean + std * noise.
Tensor sample_posterior(const Posterior& posterior, const Tensor& noise);

// Rows and columns that remain when an image is cut centrally to multiples: [B, H, W, C] -> [B, H', W', C]; shares the bytes when nothing is cut.
Tensor crop_to_multiple(const Tensor& image, int64_t multiple);

// clamp((raw + 1) / 2, 0, 1) in place on raw's bytes if these are its own, else on a copy.
Tensor image_from_raw(Tensor raw);

}  // namespace veneer::models
