// One sampling run from start to end: what the KSampler nodes do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "sampling/conditioning.h"
#include "sampling/guidance_options.h"
#include "sampling/latent.h"
#include "sampling/model_sampling.h"
#include "sampling/network.h"
#include "sampling/sampler.h"

namespace veneer::sampling {

// From the VAE's latents to the network's: (latent - shift) * scale. Facts of a model family; these are Stable Diffusion 1.x's.
struct LatentScaling {
  double scale = 0.18215;
  double shift = 0.0;
};

struct SampleRequest {
  const ModelSampling& model_sampling;
  Network network;
  GuidanceOptions guidance = {};
  LatentScaling scaling = {};

  Conditioning positive = {};
  Conditioning negative = {};
  // Where the run starts; samples that are all zeros are not scaled. With a noise mask only what it covers is made anew.
  Latent latent = {};

  std::string sampler = "euler";
  double cfg = 1.0;
  uint64_t seed = 0;

  // The noise levels: `sigmas` if it is not empty, else by make_sigmas and cut_sigmas.
  std::vector<float> sigmas = {};
  std::string scheduler = "normal";
  int steps = 20;
  double denoise = 1.0;
  int start_step = -1;  // -1: from the first
  int last_step = -1;   // -1: to the last
  bool force_full_denoise = false;

  bool disable_noise = false;         // starts from the latent as it is, which is taken to be noisy already
  Tensor noise = {};                  // the starting noise, of the latent's shape; undefined: prepare_noise with seed and batch_index
  NoiseSource* step_noise = nullptr;  // the sampler's own noise; null: by the sampler's kind from the seed

  StepCallback callback = {};  // gets tensors in the network's scaling
  CancelToken cancel = {};
};

// Latents in the VAE's scaling from those in the network's.
Tensor unscaled_latent(const Tensor& latent, const LatentScaling& scaling);

// The noise levels that `sample` will visit. None: nothing to do; one: the latent is noised and no step made.
std::vector<float> sample_sigmas(const SampleRequest& request);

// Returns the samples at the end of the run, [N, C, h, w] f32 in the VAE's scaling; the latent's own samples when there is nothing to do.
// Runs on the calling thread and parallel_for's team. Throws Error(invalid) for a request that does not fit together, Error(cancelled), and what the
// network and the callback throw; nothing is left behind then.
Tensor sample(const SampleRequest& request);

}  // namespace veneer::sampling
