// From the form that the editor saves to the API form that runs.
#pragma once

#include <vector>

#include "graph/editor/editor_remark.h"
#include "graph/json.h"
#include "graph/node_registry.h"
#include "graph/prompt.h"

namespace veneer::graph {

struct EditorConversion {
  Json
      prompt;  // node id -> {"inputs", "class_type", "_meta"}, nodes in the order in which they were saved, those of a subgraph behind its instance's
  std::vector<EditorRemark> remarks;  // at most 1000
  bool complete() const;              // no remark tells of a loss
};

// Nodes inside of an instance of a subgraph get the ids "INSTANCE:NODE", as the editor gives them. Muted nodes are left out, bypassed ones pass their
// inputs on, reroutes, primitive nodes and notes vanish. Classes that are not in the registry are converted as far as the file names their values.
// Throws what read_editor_workflow and open_scopes do.
EditorConversion convert_editor_workflow(const Json& workflow, const NodeRegistry& registry, const PromptLimits& limits = {});

}  // namespace veneer::graph
