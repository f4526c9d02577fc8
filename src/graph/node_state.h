// NodeStates: what nodes remember from one prompt to the next (see NodeContext::state).
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/node_context.h"

namespace veneer::graph {

// "<id> <class>": names a node of the prompt together with its class, unambiguously.
std::string owner_name(const std::string& node_id, const std::string& class_type);

// `get` may be called from any thread.
class NodeStates {
 public:
  std::shared_ptr<void> get(const NodeRef& node, const std::string& owner, std::type_index type, std::shared_ptr<void> (*make)());
  // Drops the states of nodes whose outermost parent, or they themselves, are not among the owners.
  void keep(const std::unordered_set<std::string>& owners);
  void clear() { states_.clear(); }

 private:
  struct State {
    std::string owner;
    std::vector<std::pair<std::type_index, std::shared_ptr<void>>> objects;
  };
  std::mutex mutex_;
  std::unordered_map<std::string, State> states_;
};

}  // namespace veneer::graph
