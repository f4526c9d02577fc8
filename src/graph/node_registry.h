// NodeRegistry: the node classes that an engine knows, by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/node_def.h"

namespace veneer::graph {

// Filled once from the themes' lists, read-only afterwards (then safe from any thread).
class NodeRegistry {
 public:
  NodeRegistry() = default;
  explicit NodeRegistry(std::vector<NodeDef> defs);

  // Throws Error(invalid) for a class that is there already, has no name, no `run`, or two inputs of one name.
  void add(NodeDef def);

  // nullptr when unknown. The pointer is valid for the registry's life.
  const NodeDef* find(std::string_view class_type) const;
  // Throws Error(not_found) with the nearest names.
  const NodeDef& at(std::string_view class_type) const;
  // In the order they were added.
  const std::vector<const NodeDef*>& all() const { return order_; }
  // Known class names that look like a misspelling of `class_type`, nearest first.
  std::vector<std::string> nearest(std::string_view class_type, size_t limit = 3) const;

 private:
  std::unordered_map<std::string_view, std::unique_ptr<const NodeDef>> by_name_;  // keys view the defs' own names
  std::vector<const NodeDef*> order_;
};

}  // namespace veneer::graph
