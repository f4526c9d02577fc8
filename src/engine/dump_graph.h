// Engine::dump_graph.
#pragma once

#include <string>
#include <string_view>

#include "graph/environment.h"
#include "graph/node_registry.h"
#include "veneer/workflow.h"

namespace veneer::engine {

// Throws Error(invalid) for what is no workflow, and for more nodes than a picture can show.
std::string dump_graph(std::string_view workflow, GraphFormat format, const graph::NodeRegistry& nodes, const graph::Environment& environment);

}  // namespace veneer::engine
