#include "graph/graph_builder.h"

#include <algorithm>

namespace veneer::graph {

GraphBuilder::Node& GraphBuilder::Node::set(std::string input, Source source) {
  const auto it = std::ranges::find(node_.inputs, input, [](const auto& entry) -> const std::string& { return entry.first; });
  if (it != node_.inputs.end()) {
    it->second = std::move(source);
  } else {
    node_.inputs.emplace_back(std::move(input), std::move(source));
  }
  return *this;
}

GraphBuilder::Node& GraphBuilder::Node::unset(const std::string& input) {
  std::erase_if(node_.inputs, [&](const auto& entry) { return entry.first == input; });
  return *this;
}

GraphBuilder::Node& GraphBuilder::Node::display(std::string node_id) {
  node_.display_id = std::move(node_id);
  return *this;
}

GraphBuilder::GraphBuilder(NodeContext& context)
    : prefix_(context.node_id() + "." + std::to_string(context.call_index()) + "." + std::to_string(context.next_graph_index()) + ".") {}

GraphBuilder::Node& GraphBuilder::node(std::string class_type, std::string local_id) {
  if (local_id.empty()) local_id = std::to_string(next_++);
  if (find(local_id) != nullptr) throw Error(ErrorCode::invalid, "graph: expansion has two nodes of one id", {{"id", local_id}});
  ExpansionNode description;
  description.id = prefix_ + local_id;
  description.class_type = std::move(class_type);
  return nodes_.emplace_back(std::move(description));
}

GraphBuilder::Node* GraphBuilder::find(const std::string& local_id) {
  const auto it = std::ranges::find(nodes_, prefix_ + local_id, &Node::id);
  return it == nodes_.end() ? nullptr : &*it;
}

std::vector<ExpansionNode> GraphBuilder::finish() const {
  std::vector<ExpansionNode> nodes;
  for (const Node& node : nodes_) nodes.push_back(node.description());
  return nodes;
}

}  // namespace veneer::graph
