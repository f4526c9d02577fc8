// GraphBuilder: makes the sub-graph of an expansion with ids that are unique and the same on every run.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "graph/node_context.h"
#include "graph/node_result.h"

namespace veneer::graph {

// Ids are "<expanding node>.<call>.<graph>.<local id>"; local ids count from 1 unless given.
class GraphBuilder {
 public:
  class Node {
   public:
    explicit Node(ExpansionNode node) : node_(std::move(node)) {}
    const std::string& id() const { return node_.id; }
    Node& set(std::string input, Source source);
    // Removes it if there.
    Node& unset(const std::string& input);
    // The node that the editor highlights while this one runs.
    Node& display(std::string node_id);
    Link out(int slot) const { return {node_.id, slot}; }
    const ExpansionNode& description() const { return node_; }

   private:
    ExpansionNode node_;
  };

  explicit GraphBuilder(NodeContext& context);
  // Throws Error(invalid) for a local id that is used already. References stay valid.
  Node& node(std::string class_type, std::string local_id = "");
  // nullptr when unknown.
  Node* find(const std::string& local_id);
  std::vector<ExpansionNode> finish() const;

 private:
  std::string prefix_;
  int next_ = 1;
  std::deque<Node> nodes_;
};

}  // namespace veneer::graph
