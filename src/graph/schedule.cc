#include "graph/schedule.h"

#include <algorithm>

namespace veneer::graph {

Schedule::Item& Schedule::item(NodeIndex node) {
  if (items_.size() < graph_.size()) items_.resize(graph_.size());
  return items_[node];
}

Schedule::Rank Schedule::rank(NodeIndex node) const {
  const Item& it = items_[node];
  return {graph_[node].view.def->async ? uint8_t{0} : static_cast<uint8_t>(it.distance + 1), it.order, node};
}

// Whether the node's dependencies have to be looked at: it was not wanted before, or its result is gone.
bool Schedule::open(NodeIndex node) {
  Item& it = item(node);
  if (it.state != State::idle && !(it.state == State::done && !has_result_(node))) return false;
  it.state = State::waiting;
  it.order = discovered_++;
  it.waiting_for = 0;
  it.needs.clear();
  if (graph_[node].view.def->output_node) it.distance = 0;
  ++unfinished_;
  return true;
}

void Schedule::add_edge(NodeIndex from, NodeIndex to) {
  item(from).dependents.push_back(to);
  item(to).needs.push_back(from);
  ++item(to).waiting_for;
  if (item(to).distance < kFar) relax(from, static_cast<uint8_t>(item(to).distance + 1));
}

void Schedule::relax(NodeIndex node, uint8_t distance) {
  std::vector<std::pair<NodeIndex, uint8_t>> work = {{node, distance}};
  while (!work.empty()) {
    const auto [index, closer] = work.back();
    work.pop_back();
    Item& it = item(index);
    if (closer >= it.distance) continue;
    const bool listed = it.state == State::ready && ready_.erase(rank(index)) > 0;
    it.distance = closer;
    if (listed) ready_.insert(rank(index));
    if (closer + 1 >= kFar) continue;
    for (const NodeIndex need : it.needs) work.emplace_back(need, static_cast<uint8_t>(closer + 1));
  }
}

void Schedule::settle(NodeIndex node) {
  Item& it = item(node);
  if (it.state != State::waiting || it.waiting_for > 0) return;
  it.state = State::ready;
  ready_.insert(rank(node));
}

void Schedule::want(NodeIndex wanted) {
  if (!open(wanted)) return;
  std::vector<NodeIndex> stack = {wanted};
  std::vector<NodeIndex> opened;
  while (!stack.empty()) {
    const NodeIndex node = stack.back();
    stack.pop_back();
    opened.push_back(node);
    // A result that came from the cache needs nothing behind it.
    if (has_result_(node)) continue;
    const RunNode& run_node = graph_[node];
    for (const auto& input : run_node.view.inputs) {
      const Link* link = std::get_if<Link>(&input.second);
      if (link == nullptr || RunGraph::is_lazy(run_node, input.first)) continue;
      const NodeIndex behind = graph_.index_of(link->node_id);
      if (behind == kNoNode || has_result_(behind)) continue;  // a link that leads nowhere fails when the node runs
      if (open(behind)) stack.push_back(behind);
      add_edge(behind, node);
    }
  }
  for (const NodeIndex node : opened) settle(node);
}

void Schedule::wait_for(NodeIndex node, NodeIndex needed) {
  if (has_result_(needed)) return;
  want(needed);
  add_edge(needed, node);
}

NodeIndex Schedule::take() {
  if (ready_.empty()) return kNoNode;
  const NodeIndex node = std::get<2>(*ready_.begin());
  ready_.erase(ready_.begin());
  item(node).state = State::taken;
  return node;
}

void Schedule::resume(NodeIndex node) {
  item(node).state = State::waiting;
  settle(node);
}

void Schedule::done(NodeIndex node) {
  Item& it = item(node);
  it.state = State::done;
  --unfinished_;
  for (const NodeIndex dependent : std::exchange(it.dependents, {})) {
    --item(dependent).waiting_for;
    settle(dependent);
  }
}

std::vector<NodeIndex> Schedule::find_cycle() const {
  // Every unfinished node waits for another one: following these edges from anywhere must come round.
  const auto pending = [&](NodeIndex node) { return items_[node].state == State::waiting; };
  NodeIndex at = kNoNode;
  for (NodeIndex node = 0; node < items_.size() && at == kNoNode; ++node) {
    if (pending(node)) at = node;
  }
  std::vector<NodeIndex> path;
  std::vector<size_t> position(items_.size(), kNoNode);
  while (at != kNoNode && position[at] == kNoNode) {
    position[at] = path.size();
    path.push_back(at);
    const auto& needs = items_[at].needs;
    const auto next = std::ranges::find_if(needs, pending);
    at = next == needs.end() ? kNoNode : *next;
  }
  if (at == kNoNode) return {};
  return {path.begin() + static_cast<ptrdiff_t>(position[at]), path.end()};
}

}  // namespace veneer::graph
