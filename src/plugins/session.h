// Session: one loaded plug-in's side of the host. Its table of functions, the calls under way, and what it has described so far.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/call_state.h"
#include "veneer/plugin_abi.h"

namespace veneer::plugins {

// A class's functions and the `user` they are called with, which is destroyed with it.
class NodeFunctions {
 public:
  explicit NodeFunctions(const VeneerNode& node) : node_(node) {}
  ~NodeFunctions() {
    if (node_.destroy != nullptr) node_.destroy(node_.user);
  }
  NodeFunctions(const NodeFunctions&) = delete;
  NodeFunctions& operator=(const NodeFunctions&) = delete;
  const VeneerNode& node() const { return node_; }

 private:
  VeneerNode node_;
};

struct DescribedNode {
  graph::NodeDef def;
  std::shared_ptr<NodeFunctions> functions;
};

// Held by a shared_ptr: it lives as long as the node classes made of it, their states and the plug-in's objects. All members may be called from any
// thread.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const VeneerHost* host() const { return &host_; }

  // While the plug-in's function runs.
  void describe(DescribedNode node);
  void refuse(std::string reason);
  // Ends that time. Throws Error(invalid) with the reason if the plug-in refused or described something faulty.
  std::vector<DescribedNode> take_described();
  // Notes a fault that the plug-in may have ignored: it is refused all the same.
  void note_fault(std::string reason) { refuse(std::move(reason)); }
  bool describing() const { return describing_; }

  // The call until close(). References in the state have to outlive it. `context` and `input_types` may be null.
  std::shared_ptr<CallState> open(Phase phase, const graph::NodeDef& def, const graph::Inputs& inputs, graph::NodeContext* context,
                                  const std::map<std::string, std::string>* input_types);
  // Waits for functions of the host that other threads are in, and makes the handles void.
  void close(CallState& call);
  // nullptr when no such call is under way.
  std::shared_ptr<CallState> find(VeneerCall id);

 private:
  VeneerHost host_;
  std::atomic<bool> describing_ = true;
  std::atomic<VeneerCall> next_call_ = 1;
  std::mutex mutex_;
  std::vector<DescribedNode> described_;
  std::string refusal_;
  std::unordered_map<VeneerCall, std::shared_ptr<CallState>> calls_;
};

}  // namespace veneer::plugins
