// NodeResult: what one call of a node hands back: values, a record for the editor, or a sub-graph to run in its place.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/json.h"
#include "graph/value.h"

namespace veneer::graph {

// An output slot of a node.
struct Link {
  std::string node_id;
  int slot = 0;
  bool operator==(const Link&) const = default;
};

// A constant or an edge: what stands behind an input of a node in a graph, and behind a result of an expansion.
using Source = std::variant<Value, Link>;

// A node of a sub-graph. Links name nodes of the sub-graph or of the graph around it, by full id. Made by GraphBuilder.
struct ExpansionNode {
  std::string id;
  std::string class_type;
  std::vector<std::pair<std::string, Source>> inputs;
  std::string display_id;  // "": the expanding node's
};

struct NodeResult {
  // One per declared output. An output marked is_list takes Value::list. Links only together with an expansion. Fewer than declared
  // (for example none at all from an output node) is an error only where a missing one is used.
  std::vector<Source> outputs;
  // An object such as {"images": [{...}]}, members being arrays; null for none. Calls of one list mapping are joined member by member.
  Json ui;
  // The sub-graph that has to run before links in `outputs` have values. Empty: no expansion.
  std::vector<ExpansionNode> expansion;
  // One blocker for every output instead of `outputs`.
  bool blocks_all = false;

  NodeResult() = default;
  NodeResult(std::initializer_list<Value> values) : outputs(values.begin(), values.end()) {}
  explicit NodeResult(const std::vector<Value>& values) : outputs(values.begin(), values.end()) {}

  static NodeResult with_ui(Json ui_record, const std::vector<Value>& values = {}) {
    NodeResult result(values);
    result.ui = std::move(ui_record);
    return result;
  }
  // All outputs become `blocker`, which must be one.
  static NodeResult block(Value blocker) {
    NodeResult result{std::move(blocker)};
    result.blocks_all = true;
    return result;
  }
  static NodeResult expand(std::vector<ExpansionNode> nodes, std::vector<Source> results) {
    NodeResult result;
    result.outputs = std::move(results);
    result.expansion = std::move(nodes);
    return result;
  }
};

}  // namespace veneer::graph
