// What a workflow's change means for what was computed: which node became which, and what has to be computed again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/json.h"

namespace veneer::engine {

struct WorkflowChange {
  std::map<std::string, std::string> node_ids;  // earlier id -> id; nodes that are gone are not in it
  std::vector<std::string> affected;            // nodes that have to run again: new, changed, or behind one of these; sorted
  std::vector<std::string> kept;                // the others
};

// Which nodes' own content (the file behind a model's name) is another than it was, by id of `now`.
using NodeChanged = std::function<bool(const std::string& id)>;

// Both in API form: {id: {"class_type", "inputs"}}; what has another shape counts as a node without inputs. A node became another when both have
// equal classes, constants and inputs, all the way up; among several of the same id first. What is left is paired by id and class, then by class
// where only one of it is left on both sides. Cycles do no harm. Iterative.
WorkflowChange compare_workflows(const graph::Json& before, const graph::Json& now, const NodeChanged& changed);

}  // namespace veneer::engine
