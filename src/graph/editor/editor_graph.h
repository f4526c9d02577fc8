// A workflow as the editor saves it, read into plain structures: nodes, links, definitions of subgraphs. The form: docs/workflows.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/json.h"
#include "graph/prompt.h"

namespace veneer::graph {

enum class EditorMode : uint8_t { active, muted, bypassed };

// An input or output of a node, or of a subgraph.
struct EditorSlot {
  std::string name;
  std::string type;
  std::string widget;               // the widget that the input stands for, or ""
  std::optional<std::string> link;  // id of the link that feeds an input of a node or an output of a subgraph
};

struct EditorNode {
  std::string id;
  std::string type;
  std::string title;
  EditorMode mode = EditorMode::active;
  std::vector<EditorSlot> inputs;
  std::vector<EditorSlot> outputs;
  const Json* json = nullptr;  // as it was saved; lives as long as the workflow's JSON
};

struct EditorLink {
  std::string origin;
  size_t origin_slot = 0;
  std::string target;
  size_t target_slot = 0;
};

struct EditorGraph {
  std::string name;  // of a subgraph
  std::vector<EditorNode> nodes;
  std::unordered_map<std::string, size_t> index;      // node id -> index in `nodes`
  std::unordered_map<std::string, EditorLink> links;  // by link id

  // Of subgraphs: what an instance has as inputs and outputs, and the ids under which links name the two boundaries.
  std::vector<EditorSlot> inputs, outputs;
  std::string input_node, output_node;

  // nullptr when there is none.
  const EditorNode* find(const std::string& id) const;
};

struct EditorWorkflow {
  EditorGraph root;
  std::unordered_map<std::string, EditorGraph> subgraphs;  // by id, which is the type of their instances
};

// Reads both forms of links, arrays and objects; what is only for the eye (positions, groups, reroutes of links) is left out. Throws Error(invalid)
// naming the rule and the node or subgraph for a broken structure, and for more nodes than a prompt may have. `json` must outlive the result.
EditorWorkflow read_editor_workflow(const Json& json, const PromptLimits& limits = {});

}  // namespace veneer::graph
