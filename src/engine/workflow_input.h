// The forms in which a workflow reaches the engine, and the changes that a job makes to it before it runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/editor/editor_remark.h"
#include "graph/json.h"
#include "graph/node_registry.h"
#include "veneer/job.h"

namespace veneer::engine {

struct WorkflowInput {
  graph::Json prompt;                        // API format: node id -> {class_type, inputs}
  graph::Json extra_pnginfo;                 // what pictures carry besides the prompt, e.g. {"workflow": ...}; null if nothing
  bool from_editor = false;                  // it was in the form that the editor saves, which is in `extra_pnginfo` then
  std::vector<graph::EditorRemark> remarks;  // of the conversion
};

// `bytes`: an API-format prompt, {"prompt": ..., "extra_data": {"extra_pnginfo": ...}}, the form that the editor saves, or a PNG whose text chunks
// have a prompt or else what the editor saves. Throws Error(invalid) saying what was found instead. `registry` names the values that the editor
// saves.
WorkflowInput read_workflow(std::string_view bytes, const graph::NodeRegistry& registry);

// The remarks for people, one line each: "node 5 (KSampler), input seed: ...".
std::vector<std::string> remark_lines(const std::vector<graph::EditorRemark>& remarks);

// Applies JobOptions::set and JobOptions::seed. Throws Error(invalid) naming the node or input that does not exist, and what does. Inputs of classes
// that the registry does not know are not checked: validation has more to say about those.
void apply_overrides(graph::Json& prompt, const JobOptions& options, const graph::NodeRegistry& registry);

}  // namespace veneer::engine
