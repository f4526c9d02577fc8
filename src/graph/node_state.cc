#include "graph/node_state.h"

namespace veneer::graph {

std::string owner_name(const std::string& node_id, const std::string& class_type) {
  return std::to_string(node_id.size()) + " " + node_id + " " + class_type;
}

std::shared_ptr<void> NodeStates::get(const NodeRef& node, const std::string& owner, std::type_index type, std::shared_ptr<void> (*make)()) {
  const std::lock_guard lock(mutex_);
  State& state = states_[owner_name(node.node_id, node.class_type)];
  state.owner = owner;
  for (const auto& [known, object] : state.objects) {
    if (known == type) return object;
  }
  return state.objects.emplace_back(type, make()).second;
}

void NodeStates::keep(const std::unordered_set<std::string>& owners) {
  const std::lock_guard lock(mutex_);
  std::erase_if(states_, [&](const auto& item) { return !owners.contains(item.second.owner); });
}

}  // namespace veneer::graph
