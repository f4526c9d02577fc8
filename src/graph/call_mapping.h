// List mapping: from the lists at a node's inputs to its calls, and from the results of its calls to the lists at its outputs.
#pragma once

#include <vector>

#include "graph/inputs.h"
#include "graph/node_def.h"
#include "graph/node_result.h"

namespace veneer::graph {

// One Inputs per call: shorter lists repeat their last element; a class that wants lists, and a node without inputs, is called once. Lists that
// are all empty give no call at all. Throws Error(invalid) if some list is empty while another is not.
std::vector<Inputs> split_calls(const NodeDef& def, Inputs gathered);

// The first blocker among the values of a call, or nullptr.
const Value* blocker_in(const Inputs& call);

// What a call came to: a result, or the blocker that kept it from being made.
struct CallResult {
  bool blocked = false;
  Value blocker;
  NodeResult result;
};

// Gives the values behind a link in a result of an expansion.
using ResolveLink = std::function<const std::vector<Value>&(const Link&)>;

// Joins the calls' outputs in order, one list per declared output; list outputs are flattened one level, a blocker is one element.
// Throws Error(invalid) if a list output is no list or a result has more values than the class has outputs.
std::vector<std::vector<Value>> merge_outputs(const NodeDef& def, const std::vector<CallResult>& calls, const ResolveLink& resolve);

// Joins the records member by member; the members are those of the first record. Null if no call gave one.
Json merge_ui(const std::vector<CallResult>& calls);

}  // namespace veneer::graph
