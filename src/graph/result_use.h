// ResultUse: counts who may still want a result, for the cache policy that keeps nothing longer than needed.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/fingerprint.h"
#include "graph/run_graph.h"

namespace veneer::graph {

// A result is wanted by the unfinished nodes with its key and by the unfinished nodes with a link to one of these, lazy or not.
class ResultUse {
 public:
  explicit ResultUse(RunGraph& graph) : graph_(graph) {}
  // Counts the node and all behind it that are not counted yet. Iterative.
  void add(NodeIndex node);
  // One more who wants the result of `node`: an expanding node that passes it on. `finish` lets go of it.
  void hold(NodeIndex node) { ++uses_[graph_[node].key].wanted_by; }
  // The node is done and lets go of what it held. Forgets the outcomes that nobody wants any more and returns their keys.
  std::vector<Fingerprint> finish(NodeIndex node, const std::vector<NodeIndex>& held);

 private:
  struct Use {
    size_t wanted_by = 0;
    std::vector<NodeIndex> nodes;
  };
  void release(const Fingerprint& key, std::vector<Fingerprint>& unused);

  RunGraph& graph_;
  std::vector<bool> counted_;
  std::unordered_map<Fingerprint, Use> uses_;
};

}  // namespace veneer::graph
