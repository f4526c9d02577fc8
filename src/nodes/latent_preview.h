// A quick look at a latent: a linear map to colours in place of the autoencoder.
#pragma once

#include <optional>

#include "graph/node_context.h"
#include "tensor/tensor.h"

namespace veneer::nodes {

// A service whose presence in the environment asks samplers for previews.
struct LatentPreviews {};

// The first picture of `latent` ([N, 4, h, w] f32, in the network's scaling) as [h, w, 3] u8; nothing for other channel counts. The map is the one
// that user interfaces for Stable Diffusion 1.x have in common; it shows composition and rough colours, no more.
std::optional<graph::Preview> preview_latent(const Tensor& latent);

}  // namespace veneer::nodes
