#include "graph/result_use.h"

namespace veneer::graph {

void ResultUse::add(NodeIndex node) {
  counted_.resize(graph_.size(), false);
  std::vector<NodeIndex> stack = {node};
  while (!stack.empty()) {
    const NodeIndex index = stack.back();
    stack.pop_back();
    if (counted_[index]) continue;
    counted_[index] = true;
    Use& own = uses_[graph_[index].key];
    ++own.wanted_by;
    own.nodes.push_back(index);
    for (const auto& input : graph_[index].view.inputs) {
      const Link* link = std::get_if<Link>(&input.second);
      const NodeIndex behind = link == nullptr ? kNoNode : graph_.index_of(link->node_id);
      if (behind == kNoNode) continue;
      ++uses_[graph_[behind].key].wanted_by;
      stack.push_back(behind);
    }
  }
}

void ResultUse::release(const Fingerprint& key, std::vector<Fingerprint>& unused) {
  const auto it = uses_.find(key);
  if (it == uses_.end() || --it->second.wanted_by > 0) return;
  for (const NodeIndex node : it->second.nodes) {
    graph_[node].outcome = nullptr;
    counted_[node] = false;  // a later expansion may want it again
  }
  unused.push_back(key);
  uses_.erase(it);
}

std::vector<Fingerprint> ResultUse::finish(NodeIndex node, const std::vector<NodeIndex>& held) {
  std::vector<Fingerprint> unused;
  for (const NodeIndex passed_on : held) release(graph_[passed_on].key, unused);
  if (node >= counted_.size() || !counted_[node]) return unused;
  const RunNode& done = graph_[node];
  for (const auto& input : done.view.inputs) {
    const Link* link = std::get_if<Link>(&input.second);
    const NodeIndex behind = link == nullptr ? kNoNode : graph_.index_of(link->node_id);
    if (behind != kNoNode) release(graph_[behind].key, unused);
  }
  release(done.key, unused);
  return unused;
}

}  // namespace veneer::graph
