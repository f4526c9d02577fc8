// From a text to what a diffusion model is conditioned on.
#pragma once

#include <string>

#include "graph/node_context.h"
#include "nodes/values.h"
#include "sampling/conditioning.h"

namespace veneer::nodes {

// One entry; with scheduled hooks one for each part of the run in which the encoder is another. Errors name the input "text": Error(not_found) for an
// embedding that does not exist, Error(invalid) for a text that cannot be encoded as it is written. Remarks of hooks become progress texts.
sampling::Conditioning encode_prompt(graph::NodeContext& node, const ClipValue& clip, const std::string& text);

}  // namespace veneer::nodes
