// A variant of a diffusion model as the function that sampling calls.
#pragma once

#include "nodes/services.h"
#include "nodes/values.h"
#include "sampling/network.h"

namespace veneer::nodes {

// The function keeps a view of the variant for its life, so weights are materialised once per run. `model` and `settings` have to outlive it.
sampling::Network make_network(const ModelValue& model, const ComputeSettings& settings);

}  // namespace veneer::nodes
