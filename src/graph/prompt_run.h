// PromptRun: one run of one prompt, from its first message to its last. Internal to the executor.
#pragma once

#include <condition_variable>
#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/cache_key.h"
#include "graph/call_mapping.h"
#include "graph/executor.h"
#include "graph/node_state.h"
#include "graph/result_use.h"
#include "graph/run_graph.h"
#include "graph/schedule.h"
#include "graph/value_tracker.h"

namespace veneer::graph {

// What a run borrows from its executor.
struct RunParts {
  const NodeRegistry& registry;
  const Environment& environment;
  const ExecutorOptions& options;
  ResultCache& cache;
  NodeStates& states;
  uint64_t& nonce;
};

// All on the caller's thread, but for the calls of async nodes; these touch only what NodeHost offers.
class PromptRun final : public NodeHost {
 public:
  // Throws Error(not_found) with `node` for an unknown class.
  PromptRun(RunParts parts, const Prompt& prompt, const ExecutionRequest& request, ExecutionObserver& observer);
  ~PromptRun() override;

  ExecutionResult run();

  const Json& prompt() override;
  const Json& extra_pnginfo() override { return request_.extra_pnginfo; }
  const GraphView& graph() override { return graph_; }
  void progress(const NodeRef& node, const Progress& progress) override;
  void progress_text(const NodeRef& node, const std::string& text) override;
  std::shared_ptr<void> state(const NodeRef& node, std::type_index type, std::shared_ptr<void> (*make)()) override;

 private:
  // A node between its first call and its result.
  struct Work {
    Inputs gathered;
    std::vector<CallResult> calls;
    std::vector<std::future<NodeResult>> futures;  // of an async node; invalid for blocked calls
    size_t running = 0;                            // of these, under async_mutex_
    bool expanded = false;                         // waits for, or has, the results of its sub-graph
    std::vector<NodeIndex> held;                   // whose results it passes on
  };

  void begin();
  void make_keys(NodeIndex first);
  void loop();
  void end_async();
  NodeIndex next();
  void step(NodeIndex node);

  // Gathering inputs and asking for lazy ones (prompt_run_inputs.cc).
  bool at_hand(NodeIndex node);
  Inputs gather(NodeIndex node, std::unordered_set<std::string>& missing);
  const std::vector<Value>& values_behind(const Link& link, bool may_be_missing, bool& missing);
  void track(NodeIndex behind, int slot, const std::vector<Value>& values);
  bool wait_for_lazy(NodeIndex node, const Inputs& gathered, const std::unordered_set<std::string>& missing);

  // Calls (prompt_run_calls.cc).
  NodeContext context(NodeIndex node, size_t call);
  void start_calls(NodeIndex node);
  void start_async(NodeIndex node, size_t call, Inputs inputs);
  void collect_async(NodeIndex node);
  Value pass_blocker(NodeIndex node, const Value& blocker);
  void after_calls(NodeIndex node);
  bool expand(NodeIndex node, Work& work);
  void finish(NodeIndex node);
  void take_cached(NodeIndex node);
  void done(NodeIndex node, const std::vector<NodeIndex>& held);

  // How it ends (prompt_run_end.cc).
  void fail(NodeIndex node, const std::exception& error);
  void fail_cycle();
  void end_with(ExecutionErrorEvent event);
  ExecutionErrorEvent error_event(NodeIndex node) const;
  std::vector<UiRecord> records();

  template <typename Call>
  void notify(Call call) {
    const std::lock_guard lock(observer_mutex_);
    call(observer_);
  }
  const std::string& owner_of(const RunNode& node);

  RunParts parts_;
  Environment environment_;  // of this prompt
  const Prompt& submitted_;
  const ExecutionRequest& request_;
  ExecutionObserver& observer_;
  std::mutex observer_mutex_;
  RunGraph graph_;
  Schedule schedule_;
  ResultUse uses_;
  ExecutionResult result_;
  std::unordered_map<NodeIndex, Work> work_;  // references stay valid while other nodes come and go
  std::map<NodeIndex, UiRecord> records_;
  std::unique_ptr<ValueTracker> tracker_;        // null: nobody asked
  std::set<std::pair<NodeIndex, int>> tracked_;  // outputs that the tracker has seen
  std::unordered_set<std::string> expanded_owners_;
  std::unordered_map<std::string, std::string> owners_;  // outermost node id -> owner name
  std::once_flag prompt_once_;
  Json prompt_json_;

  std::mutex async_mutex_;
  std::condition_variable async_changed_;
  size_t async_running_ = 0;               // calls
  std::vector<NodeIndex> async_finished_;  // nodes all of whose calls ended
};

}  // namespace veneer::graph
