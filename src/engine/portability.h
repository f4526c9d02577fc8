// What in a workflow would not work on another machine, or cannot be written as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/json.h"
#include "graph/node_registry.h"
#include "veneer/workflow.h"

namespace veneer::engine {

struct PathProblem {
  std::string rule;     // "absolute_path", "drive_letter", "home_folder", "parent_folder", "backslash"
  std::string message;  // for people
  bool refused = true;  // it does not work here either
};

// The first rule that a text breaks as the name of a file; nothing for a portable one. `is_name`: the text is a name for certain; otherwise only what
// is unmistakably a path counts.
std::optional<PathProblem> path_problem(std::string_view text, bool is_name);

// Of all constants of a prompt: paths, numbers that JSON does not have, and texts that are printed objects. Texts that people write (several lines)
// are left alone.
std::vector<WorkflowFinding> portability_findings(const graph::Json& prompt, const graph::NodeRegistry& nodes);

}  // namespace veneer::engine
