// A variant of a diffusion model as the function that sampling calls.
#pragma once

#include "base/cancel.h"
#include "nodes/services.h"
#include "nodes/values.h"
#include "sampling/network.h"

namespace veneer::nodes {

// The function keeps a view of the variant for its life, so weights are materialised once per run. `model` has to outlive it. Each call looks
// at `cancel` before every block of the network and throws Error(cancelled).
sampling::Network make_network(const ModelValue& model, const ComputeSettings& settings, const CancelToken& cancel);

}  // namespace veneer::nodes
