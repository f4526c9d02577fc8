// RecordCheck: whether what a node left behind outside of the graph, such as files, is still there.
#pragma once

#include <functional>
#include <string>

#include "graph/json.h"

namespace veneer::graph {

// A service of the environment; without one every cached result is good. Asked, on the thread of the prompt, of cached results with a record for the
// editor; where it says no, the node runs again. Must not throw.
struct RecordCheck {
  std::function<bool(const std::string& class_type, const Json& ui)> still_true;
};

}  // namespace veneer::graph
