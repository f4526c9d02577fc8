// From a plug-in's functions to a node class of the engine.
#pragma once

#include <memory>
#include <string>

#include "graph/node_def.h"
#include "plugins/session.h"

namespace veneer::plugins {

// The class with its functions. Errors of the plug-in become Error; what it throws across the border (which it must not) too. A result is checked
// against the description: as many outputs as declared (none at all is fine for output nodes), of the declared types. `plugin` is the module's name.
graph::NodeDef make_node(std::shared_ptr<Session> session, DescribedNode node, const std::string& plugin);

}  // namespace veneer::plugins
