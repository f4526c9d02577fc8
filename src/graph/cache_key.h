// Cache keys: what a node's result depends on, as one fingerprint.
//
// key = class, constants, change fingerprint, and for each link the key of the node behind it and the slot; the id only for classes that ask
// for it. So equal nodes share a key whatever their ids. A node gets a key that never occurs again if its change fingerprint is NaN, if a
// constant is an object without fingerprint, if a link leads nowhere or round in a cycle, or if that is so of an ancestor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "graph/environment.h"
#include "graph/run_graph.h"

namespace veneer::graph {

class KeyMaker {
 public:
  using Remark = std::function<void(const NodeRef&, const std::string&)>;

  // `nonce` counts on over all prompts of an executor. `remark` is told of change fingerprints that could not be made.
  KeyMaker(RunGraph& graph, const Environment& environment, uint64_t& nonce, Remark remark)
      : graph_(graph), environment_(environment), nonce_(nonce), remark_(std::move(remark)) {}

  // Fills `key` of the nodes [begin, graph.size()). Asks each class's change_fingerprint once per node. Iterative.
  void make(NodeIndex begin);

 private:
  Fingerprint never();
  Fingerprint key_of(const RunNode& node);
  // The change fingerprint; a NaN if it never matches.
  Json change_of(const RunNode& node) const;

  RunGraph& graph_;
  const Environment& environment_;
  uint64_t& nonce_;
  Remark remark_;
};

}  // namespace veneer::graph
