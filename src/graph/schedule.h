// Schedule: which node may run next. Holds the dependencies among the nodes that are wanted, and changes while they run.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <tuple>
#include <vector>

#include "graph/run_graph.h"

namespace veneer::graph {

// Among ready nodes the order is: async nodes, so that they work while others do; output nodes; nodes that feed an output; nodes two steps
// away; the others; equal ones as they were discovered. All operations are iterative; a whole run costs O(nodes + edges) log nodes.
class Schedule {
 public:
  // `has_result(n)` says whether the node's result is at hand, so that nobody has to wait for it.
  Schedule(const RunGraph& graph, std::function<bool(NodeIndex)> has_result) : graph_(graph), has_result_(std::move(has_result)) {}

  // Wants the node and all it depends on, lazy inputs excepted. A node that is done is run again only if its result is gone.
  void want(NodeIndex node);
  // Makes `node` wait for `needed` too, which is wanted thereby. No effect if the result of `needed` is at hand.
  void wait_for(NodeIndex node, NodeIndex needed);

  // Takes the best ready node off the list; kNoNode if none is ready. The taker ends with `done`, or with `resume` to be asked again.
  NodeIndex take();
  // The node cannot be finished yet: it becomes ready when all it waits for are done, at once if there is nothing.
  void resume(NodeIndex node);
  void done(NodeIndex node);

  // Nodes wanted and not done.
  size_t unfinished() const { return unfinished_; }
  // Nodes that wait for each other, when nothing is ready and nothing runs. One whole cycle, first found.
  std::vector<NodeIndex> find_cycle() const;

 private:
  enum class State : uint8_t { idle, waiting, ready, taken, done };
  struct Item {
    State state = State::idle;
    uint8_t distance = kFar;  // steps to the nearest output node that waits for it
    size_t order = 0;         // of discovery
    size_t waiting_for = 0;   // dependencies not done
    std::vector<NodeIndex> dependents;
    std::vector<NodeIndex> needs;  // wanted dependencies, to pass distances on
  };
  static constexpr uint8_t kFar = 3;
  using Rank = std::tuple<uint8_t, size_t, NodeIndex>;

  Item& item(NodeIndex node);
  Rank rank(NodeIndex node) const;
  bool open(NodeIndex node);
  void add_edge(NodeIndex from, NodeIndex to);
  void relax(NodeIndex node, uint8_t distance);
  void settle(NodeIndex node);

  const RunGraph& graph_;
  std::function<bool(NodeIndex)> has_result_;
  std::vector<Item> items_;
  std::set<Rank> ready_;
  size_t unfinished_ = 0;
  size_t discovered_ = 0;
};

}  // namespace veneer::graph
