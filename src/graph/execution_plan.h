// The order in which a prompt would run, and what each node's result depends on, without running it.
#pragma once

#include <string>
#include <vector>

#include "graph/environment.h"
#include "graph/node_registry.h"
#include "graph/prompt.h"

namespace veneer::graph {

struct PlannedStep {
  size_t node = 0;                      // index in the prompt
  bool runs = true;                     // some output needs it
  bool in_cycle = false;                // it waits for itself: it can never run
  std::string signature;                // of the cached result: equal ones are computed once; "" for a node that is never taken from the cache
  std::vector<std::string> depends_on;  // ids of the nodes that its inputs are linked to, each once
};

// Nodes in the order in which the executor would take them, from an empty cache; those that only a lazy input asks for stand behind the others, then
// those that no output needs. All classes have to be in the registry: throws Error(not_found) otherwise.
std::vector<PlannedStep> execution_plan(const Prompt& prompt, const NodeRegistry& registry, const Environment& environment);

}  // namespace veneer::graph
