// Workflows without running them: what Engine and the server answer from.
#pragma once

#include <string>
#include <string_view>

#include "graph/environment.h"
#include "graph/node_registry.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// Engine::validate. `environment` has a registry::Library and what the nodes' choices need. Throws Error(invalid) for what is no workflow at all.
WorkflowReport validate_workflow(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                                 const ValidateOptions& options = {});

// Engine::make_portable.
PortableWorkflow make_portable(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment);

// Engine::lock_workflow.
std::string lock_workflow(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment,
                          const HashProgress& progress = {});

// The report as the command line and the server print it.
std::string report_json(const WorkflowReport& report);

}  // namespace veneer::engine
