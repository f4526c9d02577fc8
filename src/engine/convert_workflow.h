// Engine::convert_workflow.
#pragma once

#include <string_view>

#include "graph/node_registry.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// Throws Error(invalid) for what is no workflow.
ConvertedWorkflow convert_workflow(std::string_view workflow, const graph::NodeRegistry& registry);

}  // namespace veneer::engine
