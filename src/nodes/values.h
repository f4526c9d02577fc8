// The objects behind the socket types of ComfyUI. Each travels as graph::Value::of(TYPE, ...): immutable, shared, cheap to copy.
//
//   MODEL ModelValue   CLIP ClipValue   VAE VaeValue   CONDITIONING sampling::Conditioning   LATENT sampling::Latent
//   IMAGE Tensor [N, H, W, 3] f32 in 0..1   MASK Tensor [N, H, W] f32 in 0..1
#pragma once

#include <memory>
#include <optional>

#include "models/clip/text_encoder.h"
#include "models/unet/unet.h"
#include "models/vae/vae.h"
#include "sampling/model_sampling.h"
#include "sampling/sample.h"
#include "variant/model_patcher.h"

namespace veneer::nodes {

// A variant of a diffusion model.
struct ModelValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::Unet> network;
  std::shared_ptr<const sampling::ModelSampling> model_sampling;
  sampling::LatentScaling latent_scaling;  // between the autoencoder's latents and the network's
};

// A variant of a text encoder.
struct ClipValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::ClipTextModel> network;
  std::optional<int> layer;  // CLIPSetLastLayer: -1 the last, -2 the one before, ...
};

struct VaeValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::Vae> network;
};

}  // namespace veneer::nodes
