// The forms in which a workflow reaches the engine, and the changes that a job makes to it before it runs.
#pragma once

#include <string_view>

#include "graph/json.h"
#include "graph/node_registry.h"
#include "veneer/job.h"

namespace veneer::engine {

struct WorkflowInput {
  graph::Json prompt;         // API format: node id -> {class_type, inputs}
  graph::Json extra_pnginfo;  // what pictures carry besides the prompt, e.g. {"workflow": ...}; null if nothing
};

// `bytes`: an API-format prompt, {"prompt": ..., "extra_data": {"extra_pnginfo": ...}}, or a PNG with a "prompt" text chunk. Throws Error(invalid)
// saying what was found instead, for the form that the editor saves too.
WorkflowInput read_workflow(std::string_view bytes);

// Applies JobOptions::set and JobOptions::seed. Throws Error(invalid) naming the node or input that does not exist, and what does. Inputs of classes
// that the registry does not know are not checked: validation has more to say about those.
void apply_overrides(graph::Json& prompt, const JobOptions& options, const graph::NodeRegistry& registry);

}  // namespace veneer::engine
