// A prompt's faults as one Error for callers that are no ComfyUI clients.
#pragma once

#include "graph/validation.h"
#include "veneer/error.h"

namespace veneer::engine {

// Error(invalid) with the first fault's rule as text and node, class, input, value and allowed values as context, and the number of further faults.
// `registry` and `environment`: those that the prompt was validated with.
Error validation_error(const graph::Validation& validation, const graph::NodeRegistry& registry, const graph::Environment& environment);

}  // namespace veneer::engine
