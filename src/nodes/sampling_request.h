// What all sampling nodes ask of a run.
#pragma once

#include "graph/node_context.h"
#include "nodes/values.h"
#include "sampling/sample.h"

namespace veneer::nodes {

// A request with the model's network, options and scaling, and with the node's cancellation and progress. Both have to outlive it.
sampling::SampleRequest sampling_request(graph::NodeContext& node, const ModelValue& model);

// Runs the request. Throws what sampling::sample does, and Error(invalid) naming the model's adapters when the result is not finite.
Tensor sample_finite(const sampling::SampleRequest& request, const ModelValue& model);

}  // namespace veneer::nodes
