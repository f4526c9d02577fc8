// RunGraph: the nodes of one run: those of the submitted prompt and those that expansions add.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fingerprint.h"
#include "graph/node_context.h"
#include "graph/node_registry.h"
#include "graph/prompt.h"
#include "graph/result_cache.h"

namespace veneer::graph {

using NodeIndex = size_t;
inline constexpr NodeIndex kNoNode = static_cast<NodeIndex>(-1);

struct RunNode {
  GraphView::Node view;
  NodeRef ref;
  Json given_change;  // the `is_changed` member of the prompt; discarded if there is none
  Fingerprint key;    // see cache_key.h
  bool key_known = false;
  Outcome outcome;  // set once there is a result; pinned for the run, unless the cache keeps nothing
};

// The part that nodes see is safe from any thread; the rest belongs to the thread of the run. References to nodes stay valid.
class RunGraph final : public GraphView {
 public:
  // Throws Error(not_found) for an unknown class.
  RunGraph(const Prompt& prompt, const NodeRegistry& registry);

  size_t size() const { return nodes_.size(); }
  // Nodes [0, prompt_size()) are the prompt's, in its order.
  size_t prompt_size() const { return prompt_size_; }
  RunNode& operator[](NodeIndex index) { return nodes_[index]; }
  const RunNode& operator[](NodeIndex index) const { return nodes_[index]; }
  NodeIndex index_of(std::string_view id) const;

  // Adds the nodes of an expansion of `parent`; the first new index is size() before. Throws Error(invalid) for an id that exists,
  // Error(not_found) for an unknown class.
  void expand(NodeIndex parent, const std::vector<ExpansionNode>& nodes, const NodeRegistry& registry);

  // Whether the node receives the link itself in place of the values behind it. It depends on them all the same.
  static bool is_raw(const RunNode& node, std::string_view input);
  // Whether the input is evaluated on demand only. A class that is never asked what it needs gets all its inputs.
  static bool is_lazy(const RunNode& node, std::string_view input);
  // outputs[slot], slot counting from the end when negative; nullptr when out of range.
  static const std::vector<Value>* output(const NodeOutcome& outcome, int slot);

  bool has(std::string_view id) const override;
  const Node& node(std::string_view id) const override;
  std::vector<std::string> ids() const override;

 private:
  void append(RunNode node);

  mutable std::mutex mutex_;  // guards nodes_ and index_ against readers in other threads
  std::deque<RunNode> nodes_;
  std::unordered_map<std::string_view, NodeIndex> index_;  // views of the nodes' ids
  size_t prompt_size_ = 0;
};

}  // namespace veneer::graph
