// Loading one shared library into this process.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "graph/node_def.h"

namespace veneer::plugins {

// The node classes that the library registers; `name` becomes their module, custom_nodes.NAME. Throws Error(invalid) with the reason: no library, a
// missing dependency, no or another version's function, a function that fails, throws or describes something faulty, no class at all, a class twice.
// Then nothing of it is registered. A library that crashes takes the process along: see probe.h. Libraries are never unloaded, whatever they did:
// threads and objects of theirs may outlive every call.
std::vector<graph::NodeDef> load_library(const std::filesystem::path& file, const std::string& name);

}  // namespace veneer::plugins
