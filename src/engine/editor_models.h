// The models that a workflow of the editor says where to get: "models" among the properties of its nodes.
#pragma once

#include <vector>

#include "graph/json.h"
#include "registry/library.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// `workflow`: in the editor's form. Files that are here are held to the hash that it tells ("model_hash"), if `read_files`; of files that are not
// here, the address is told ("model_source") and nothing is fetched. Entries of files that no widget of their node names any more do not count.
std::vector<WorkflowFinding> editor_model_findings(const graph::Json& workflow, registry::Library& library, bool read_files,
                                                   const HashProgress& progress);

}  // namespace veneer::engine
