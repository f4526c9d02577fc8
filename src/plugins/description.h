// The JSON by which a plug-in describes a node class (docs/plugins.md has its form).
#pragma once

#include <string_view>

#include "graph/node_def.h"

namespace veneer::plugins {

// A class without its functions; the validator has its inputs and flags. Throws Error(invalid) that names class, member and rule: for members that
// are unknown, missing or of another JSON kind, names that are empty or not of the allowed characters, types that are no text, a range of which the
// minimum is above the maximum, choices without a choice.
graph::NodeDef parse_description(std::string_view json);

}  // namespace veneer::plugins
