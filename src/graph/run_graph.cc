#include "graph/run_graph.h"

namespace veneer::graph {

RunGraph::RunGraph(const Prompt& prompt, const NodeRegistry& registry) {
  for (const PromptNode& node : prompt.nodes()) {
    RunNode added;
    added.view.id = node.id;
    added.view.class_type = node.class_type;
    added.view.display_id = node.id;
    added.view.def = registry.find(node.class_type);
    if (added.view.def == nullptr)
      throw Error(ErrorCode::not_found, "graph: node class does not exist", {{"class", node.class_type}, {"node", node.id}});
    if (const Json* inputs = node.inputs()) {
      for (const auto& [name, value] : inputs->get_ref<const Json::object_t&>()) added.view.inputs.emplace_back(name, source_of(value));
    }
    added.ref = {node.id, node.id, std::nullopt, node.id, node.class_type};
    const auto change = node.members.find("is_changed");
    added.given_change = change == node.members.end() ? Json(Json::value_t::discarded) : *change;
    append(std::move(added));
  }
  prompt_size_ = nodes_.size();
}

void RunGraph::append(RunNode node) {
  nodes_.push_back(std::move(node));
  index_.emplace(nodes_.back().view.id, nodes_.size() - 1);
}

NodeIndex RunGraph::index_of(std::string_view id) const {
  const auto it = index_.find(id);
  return it == index_.end() ? kNoNode : it->second;
}

void RunGraph::expand(NodeIndex parent, const std::vector<ExpansionNode>& nodes, const NodeRegistry& registry) {
  const NodeRef& above = nodes_[parent].ref;
  const std::lock_guard lock(mutex_);
  for (const ExpansionNode& node : nodes) {
    if (index_.contains(node.id)) throw Error(ErrorCode::invalid, "graph: expansion adds a node whose id exists already", {{"id", node.id}});
    RunNode added;
    added.view.id = node.id;
    added.view.class_type = node.class_type;
    added.view.inputs = node.inputs;
    added.view.parent_id = above.node_id;
    added.view.def = &registry.at(node.class_type);
    // The editor knows nodes of the prompt only: an id that an expansion made stands for the node it shows as.
    const NodeIndex shown = index_of(node.display_id.empty() ? above.node_id : node.display_id);
    added.view.display_id = shown == kNoNode ? node.display_id : nodes_[shown].ref.display_node_id;
    added.ref = {node.id, added.view.display_id, above.node_id, above.real_node_id, node.class_type};
    added.given_change = Json(Json::value_t::discarded);
    append(std::move(added));
  }
}

bool RunGraph::is_raw(const RunNode& node, std::string_view input) {
  const InputDef* def = node.view.def->input(input);
  return def != nullptr && def->raw_link;
}

bool RunGraph::is_lazy(const RunNode& node, std::string_view input) {
  const InputDef* def = node.view.def->input(input);
  return def != nullptr && def->lazy && node.view.def->check_lazy_status;
}

const std::vector<Value>* RunGraph::output(const NodeOutcome& outcome, int slot) {
  const auto count = static_cast<int64_t>(outcome.outputs.size());
  const int64_t index = slot < 0 ? slot + count : slot;
  return index < 0 || index >= count ? nullptr : &outcome.outputs[static_cast<size_t>(index)];
}

bool RunGraph::has(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  return index_of(id) != kNoNode;
}

const GraphView::Node& RunGraph::node(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const NodeIndex index = index_of(id);
  if (index == kNoNode) throw Error(ErrorCode::not_found, "graph: node does not exist", {{"id", std::string(id)}});
  return nodes_[index].view;
}

std::vector<std::string> RunGraph::ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const RunNode& node : nodes_) all.push_back(node.view.id);
  return all;
}

}  // namespace veneer::graph
