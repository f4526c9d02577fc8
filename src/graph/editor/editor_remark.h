// What a conversion of an editor's workflow has to say.
#pragma once

#include <string>

namespace veneer::graph {

struct EditorRemark {
  std::string node;  // id in the prompt, "5:3" within a subgraph
  std::string class_type;
  std::string input;  // or ""
  std::string rule;   // "unknown_class", "unmapped_values", ...: docs/workflows.md
  std::string text;   // for people
  bool loss = true;   // something of the workflow is missing in the prompt; otherwise only worth knowing
};

}  // namespace veneer::graph
