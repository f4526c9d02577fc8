// A variant of a diffusion model as the function that sampling calls.
#pragma once

#include <functional>
#include <string>

#include "base/cancel.h"
#include "nodes/services.h"
#include "nodes/values.h"
#include "sampling/network.h"

namespace veneer::nodes {

// One run's network. It keeps views of the variant, and of what the prompts' hooks make of it, for its life, so weights are materialised once per
// run. `model` has to outlive it. Each call looks at `cancel` before every block of the network and throws Error(cancelled). `on_remark` gets what
// hooks have to say about the model.
sampling::Network make_network(const ModelValue& model, const ComputeSettings& settings, const CancelToken& cancel,
                               std::function<void(const std::string&)> on_remark = {});

}  // namespace veneer::nodes
