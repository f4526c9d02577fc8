// The nodes of an editor's workflow with every instance of a subgraph opened.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/editor/editor_graph.h"
#include "graph/editor/editor_remark.h"

namespace veneer::graph {

// One instance of a graph: the workflow itself, or what is inside of a node whose type is a subgraph.
struct EditorScope {
  static constexpr uint32_t kNone = static_cast<uint32_t>(-1);

  const EditorGraph* graph = nullptr;
  std::string prefix;                               // of ids in the prompt: "" or "5:" or "5:3:"
  uint32_t parent = kNone;                          // the scope that the instance is in, and the node there
  uint32_t instance = kNone;                        // index in the parent's nodes
  std::unordered_map<uint32_t, uint32_t> children;  // node index -> scope
  std::map<std::string, const Json*> promoted;      // input of the instance -> the value that its widget has
};

// The first scope is the workflow. Muted and bypassed instances are not opened. Throws Error(invalid) for a subgraph that contains itself, and for
// more nodes in all than a prompt may have. Instances whose widgets' values cannot be told apart are named in `remarks`.
std::vector<EditorScope> open_scopes(const EditorWorkflow& workflow, const PromptLimits& limits, std::vector<EditorRemark>& remarks);

}  // namespace veneer::graph
