// The objects behind the socket types of ComfyUI. Each travels as graph::Value::of(TYPE, ...): immutable, shared, cheap to copy.
//
//   MODEL ModelValue   CLIP ClipValue   VAE VaeValue   CONDITIONING sampling::Conditioning   LATENT sampling::Latent
//   IMAGE Tensor [N, H, W, 3] f32 in 0..1   MASK Tensor [N, H, W] f32 in 0..1
//   HOOKS variant::HookGroup   HOOK_KEYFRAMES variant::HookKeyframes   TIMESTEPS_RANGE TimestepsRange
//   GUIDER GuiderValue   NOISE NoiseValue   SAMPLER SamplerValue   SIGMAS SigmasValue
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/clip/text_encoder.h"
#include "models/unet/unet.h"
#include "models/vae/vae.h"
#include "sampling/model_sampling.h"
#include "sampling/sample.h"
#include "variant/hooks.h"
#include "variant/model_patcher.h"

namespace veneer::nodes {

// The slot of a diffusion model that holds its sampling::ModelSampling.
inline constexpr const char* kModelSampling = "model_sampling";

// A variant of a diffusion model.
struct ModelValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::Unet> network;
  sampling::LatentScaling latent_scaling;  // between the autoencoder's latents and the network's
};

// A variant of a text encoder.
struct ClipValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::ClipTextModel> network;
  std::optional<int> layer;               // CLIPSetLastLayer: -1 the last, -2 the one before, ...
  variant::HookGroupPtr hooks = {};       // on the encoder while it encodes, or null
  bool schedule_hooks = false;            // encodes once for each part of the run in which their keyframes differ; otherwise keyframes do not count
  variant::HookGroupPtr cond_hooks = {};  // what encoded prompts bring to the diffusion model, or null
};

// A model, prompts, and how their predictions become one.
struct GuiderValue {
  ModelValue model;
  sampling::GuidanceOptions guidance;
  sampling::Conditioning positive, negative;
  double cfg = 1;
};

// The starting noise, made from a seed, or none. Samplers' own noise has the same seed.
struct NoiseValue {
  uint64_t seed = 0;
  bool none = false;
};

struct SamplerValue {
  std::string name;  // of a SamplerDef
};

// The noise levels of a run, descending; empty: nothing to do.
struct SigmasValue {
  std::vector<float> sigmas;
};

// A part of a run, as shares of it.
struct TimestepsRange {
  double start = 0, end = 1;
};

struct VaeValue {
  variant::ModelPatcher patcher;
  std::shared_ptr<const models::Vae> network;
};

}  // namespace veneer::nodes
