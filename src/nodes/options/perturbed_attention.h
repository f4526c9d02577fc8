// Perturbed-attention guidance: away from what the network predicts when its middle block's self-attention looks nowhere.
//
// Source: Ahn et al. 2024, "Self-Rectifying Diffusion Sampling with Perturbed-Attention Guidance", arXiv:2403.17377.
#pragma once

#include "sampling/guidance_options.h"

namespace veneer::nodes {

// Adds scale * (positive - perturbed positive): one more evaluation per step, none for scale 0. A self-attention of the middle block that is replaced
// by its full position keeps its replacement.
sampling::Hook<Tensor(const sampling::GuidanceCall&, const Tensor&)> perturbed_attention_guidance(double scale);

}  // namespace veneer::nodes
