// Validation of a posted prompt: ComfyUI's checks with ComfyUI's error objects, plus what a person wants to know besides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/environment.h"
#include "graph/json.h"
#include "graph/node_registry.h"
#include "graph/prompt.h"

namespace veneer::graph {

struct ValidationOptions {
  PromptLimits limits;
  // partial_execution_targets: only output nodes in the list count. An empty list selects none.
  std::optional<std::vector<std::string>> targets;
  // Also refuses what ComfyUI lets pass by accident: choices of the newer form outside of their options, fractions for INT, other values than
  // true and false for BOOLEAN, plain values for sockets.
  bool strict = false;
  // Lets links name outputs from the end, ["3", -1] for the last, as ComfyUI does by accident. Otherwise there is no such output.
  bool negative_slots = false;
  // Errors without what only the server's answer needs and what costs most: input_config is null, dependent_outputs is empty.
  bool terse = false;
};

struct UnknownClass {
  std::string node_id;
  std::string class_type;
  std::vector<std::string> nearest;
};

struct Validation {
  Prompt prompt;                                 // with its values converted to the declared types; empty when the structure is broken
  std::vector<std::string> outputs;              // output nodes that can run, in the prompt's order
  Json error;                                    // null if there is at least one; else {"type", "message", "details", "extra_info"}
  Json node_errors = Json::object();             // node id -> {"errors", "dependent_outputs", "class_type"}; may be filled although `error` is null
  std::vector<UnknownClass> unknown_classes;     // at most 100
  std::vector<std::vector<std::string>> cycles;  // node ids along each cycle found; at most 100
  bool ok() const { return error.is_null(); }
};

// Never throws for bad input. Iterative: depth costs no stack. Validators and option functions of node classes run on this thread.
Validation validate_prompt(Json prompt, const NodeRegistry& registry, const Environment& environment, const ValidationOptions& options = {});

}  // namespace veneer::graph
