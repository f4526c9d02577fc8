// The graph room's validation as findings, all of them.
#pragma once

#include <string>
#include <vector>

#include "graph/environment.h"
#include "graph/json.h"
#include "graph/node_registry.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// graph::validate_prompt, made to say everything at once: a class that does not exist is stood in for by one that fits all of its links, and nodes
// that no output needs are checked too (their faults are warnings). `strict`: ValidationOptions::strict.
std::vector<WorkflowFinding> graph_findings(const graph::Json& prompt, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                                            bool strict);

}  // namespace veneer::engine
