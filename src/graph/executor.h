// Executor: runs validated prompts one after another and keeps results in between.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "graph/environment.h"
#include "graph/execution_observer.h"
#include "graph/node_registry.h"
#include "graph/node_state.h"
#include "graph/prompt.h"
#include "graph/result_cache.h"

namespace veneer::graph {

struct ExecutorOptions {
  CachePolicy cache;
  size_t max_nodes = 200'000;   // of one run, expansions included
  size_t max_async_calls = 16;  // calls of async nodes under way at once
};

struct ExecutionRequest {
  std::string prompt_id;
  std::vector<std::string> outputs;  // the output nodes to run: Validation::outputs
  Json extra_pnginfo;                // extra_data.extra_pnginfo, or null
  CancelToken cancel;
};

enum class ExecutionStatus : uint8_t { success, error, interrupted };

// A record for the editor, under the id of the node it stands for.
struct UiRecord {
  std::string node_id;
  Json ui;
  NodeRef origin;  // history's `meta`: the node that made it
};

struct ExecutionResult {
  ExecutionStatus status = ExecutionStatus::success;
  std::vector<UiRecord> records;      // of all nodes of the graph that have one, cached and unselected ones included
  std::vector<std::string> executed;  // ids that ran to their end
  std::optional<ExecutionErrorEvent> error;
};

// One prompt at a time: `run` is to be called from one thread, or under a lock. Several executors share nothing but the registry and the
// environment's services.
class Executor {
 public:
  // Both have to outlive the executor.
  Executor(const NodeRegistry& registry, const Environment& environment, ExecutorOptions options = {});
  ~Executor();

  // Runs the request's outputs and what they need. Errors of nodes are reported to the observer and in the result, never thrown; only an
  // unknown class, which validation refuses, throws Error(not_found). Cancellation is looked at before every call of a node and at each progress
  // report. If the run fails while async nodes are at work, the token is cancelled so that they end too. All calls have ended when this returns.
  ExecutionResult run(const Prompt& prompt, const ExecutionRequest& request, ExecutionObserver& observer);

  // Forgets all results and node states.
  void clear();
  // Forgets results with an output for which `which` says so. Between two runs.
  void forget(const std::function<bool(const Value&)>& which) { cache_.drop_if(which); }
  size_t cached_results() const { return cache_.size(); }

 private:
  const NodeRegistry& registry_;
  const Environment& environment_;
  ExecutorOptions options_;
  ResultCache cache_;
  NodeStates states_;
  uint64_t nonce_ = 0;
};

}  // namespace veneer::graph
