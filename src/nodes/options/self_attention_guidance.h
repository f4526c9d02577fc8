// Self-attention guidance: away from what the network predicts when the parts it looks at most are blurred.
//
// Source: Hong et al. 2023, "Improving Sample Quality of Diffusion Models Using Self-Attention Guidance", arXiv:2210.00939.
#pragma once

#include "sampling/guidance_options.h"
#include "variant/model_options.h"

namespace veneer::nodes {

// Self-attention that notes in the run (RunState::notes) how much attention the negative prompt's tokens get. Replaces that of the middle block. Of
// several evaluations the last counts.
variant::Identified<Tensor(const variant::QKV&, const variant::PatchCall&)> noting_attention();

// Adds scale * (blurred - the negative prompt's prediction where it starts from blurred): one more evaluation per step. Blurred is the negative
// prompt's prediction where its tokens get more attention than the average one, with `blur_sigma` in latent elements. Needs noting_attention at
// ("middle", 0, 0) and the negative list at scale 1 too. Latents of at most 4 elements in a direction stay as they are.
sampling::Hook<Tensor(const sampling::GuidanceCall&, const Tensor&)> self_attention_guidance(double scale, double blur_sigma);

// `latent` [N, C, h, w] with `blurred` where `received` [N, rows, columns], brought to [h, w] by nearest neighbours, is above 1.
Tensor blur_attended(const Tensor& latent, const Tensor& blurred, const Tensor& received);

}  // namespace veneer::nodes
