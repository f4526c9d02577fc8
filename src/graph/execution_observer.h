// ExecutionObserver: what happens during a run, in the order in which ComfyUI's websocket tells it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/json.h"
#include "graph/node_context.h"
#include "veneer/error.h"

namespace veneer::graph {

// An execution_error message, less the timestamp.
struct ExecutionErrorEvent {
  std::string prompt_id;
  std::string node_id;  // in the submitted prompt: of an expanded node the outermost parent
  std::string node_type;
  std::vector<std::string> executed;  // ids that ran to their end in this run
  std::string exception_message;
  std::string exception_type;
  std::vector<std::string> traceback;
  Json current_inputs = Json::array();       // input -> [value or text form]; [] where a run did not come that far
  std::vector<std::string> current_outputs;  // all ids of the graph
  bool fatal = true;                         // false: a blocker's message; the run goes on
  std::optional<Error> cause;                // what the node threw, where it was an Error; not part of the message
  Json to_json() const;
};

struct ExecutionInterruptedEvent {
  std::string prompt_id;
  std::string node_id;
  std::string node_type;
  std::vector<std::string> executed;
  Json to_json() const;
};

// Every member does nothing by default. Calls come one at a time: from the thread that called Executor::run, and for `progress` and
// `progress_text` of async nodes from their threads. An observer must not throw.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  virtual void execution_start(const std::string& /*prompt_id*/) {}
  // Ids of the prompt, in its order, whose results are in the cache.
  virtual void execution_cached(const std::string& /*prompt_id*/, const std::vector<std::string>& /*nodes*/) {}
  // The node is about to work: once, or several times if lazy inputs or an expansion make it wait in between.
  virtual void executing(const NodeRef& /*node*/) {}
  virtual void progress(const NodeRef& /*node*/, const Progress& /*progress*/) {}
  virtual void progress_text(const NodeRef& /*node*/, const std::string& /*text*/) {}
  // The node's record for the editor; null for a cached node without one. `cached`: taken from the cache, nothing ran.
  virtual void executed(const NodeRef& /*node*/, const Json& /*ui*/, bool /*cached*/) {}
  // The node has its final outputs. `cached` as above.
  virtual void node_finished(const NodeRef& /*node*/, bool /*cached*/) {}
  virtual void execution_error(const ExecutionErrorEvent& /*error*/) {}
  virtual void execution_interrupted(const ExecutionInterruptedEvent& /*event*/) {}
  virtual void execution_success(const std::string& /*prompt_id*/) {}
  // A remark for the log, e.g. that a change fingerprint could not be made.
  virtual void remark(const NodeRef& /*node*/, const std::string& /*text*/) {}
};

}  // namespace veneer::graph
