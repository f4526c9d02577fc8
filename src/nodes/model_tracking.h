// The models among the values that flow in a prompt.
#pragma once

#include <memory>

#include "graph/value_tracker.h"
#include "variant/prompt_model_tracker.h"

namespace veneer::nodes {

// Marks MODEL, CLIP and VAE values in `usage`, each from its first use in a prompt until that prompt ends.
graph::ValueTracking track_models(std::shared_ptr<variant::ModelUsage> usage);

}  // namespace veneer::nodes
