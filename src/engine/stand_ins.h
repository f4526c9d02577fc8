// Classes that a workflow uses and that do not exist, stood in for, so that the rest of it can be looked at.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "graph/json.h"
#include "graph/node_registry.h"

namespace veneer::engine {

struct StandIns {
  graph::NodeRegistry nodes;                                          // copies of all classes, and the stand-ins
  std::unordered_map<std::string, std::vector<std::string>> unknown;  // class that does not exist -> the nearest names
};

// A stand-in has no inputs, and as many outputs, which fit everything, as links of the prompt name. `all_outputs`: every class is an output node, so
// that validation looks at every node.
StandIns with_stand_ins(const graph::Json& prompt, const graph::NodeRegistry& nodes, bool all_outputs);

}  // namespace veneer::engine
