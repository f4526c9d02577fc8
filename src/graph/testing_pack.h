// Node classes for tests of the graph room. A picture is one number here: its brightness, 0 (black) to 255 (white).
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "graph/environment.h"
#include "graph/execution_observer.h"
#include "graph/executor.h"
#include "graph/node_registry.h"
#include "graph/validation.h"

namespace veneer::graph {

struct Picture {
  double level = 0;
};
inline Value picture(double level) { return Value::of("IMAGE", Picture{level}); }

// Services of the pack: what its nodes count and where its async nodes meet.
struct Counters {
  std::atomic<int> noise = 0;
  std::atomic<int> change_questions = 0;
  std::atomic<int> lazy_questions = 0;
};
// `meet` returns once `parties` calls are inside at the same time, or throws when the token is cancelled.
class MeetingPlace {
 public:
  void meet(size_t parties, const CancelToken& cancel);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t present_ = 0;
};

// The defs, by theme.
std::vector<NodeDef> basic_testing_nodes();
std::vector<NodeDef> control_testing_nodes();
std::vector<NodeDef> loop_testing_nodes();

// Writes down what it is told: "start", "cached 1 2", "executing 4", "executed 5 {...}", "executed* 5 null" for cached ones, ...
class Recorder : public ExecutionObserver {
 public:
  void execution_start(const std::string&) override { add("start"); }
  void execution_cached(const std::string&, const std::vector<std::string>& nodes) override;
  void executing(const NodeRef& node) override;
  void progress(const NodeRef& node, const Progress& progress) override;
  void executed(const NodeRef& node, const Json& ui, bool cached) override;
  void node_finished(const NodeRef& node, bool cached) override;
  void execution_error(const ExecutionErrorEvent& error) override;
  void execution_interrupted(const ExecutionInterruptedEvent& event) override;
  void execution_success(const std::string&) override { add("success"); }
  void remark(const NodeRef& node, const std::string& text) override { add("remark " + node.node_id + " " + text); }

  std::vector<std::string> events;
  std::vector<std::string> ran;  // node ids announced, each once, in order
  std::vector<ExecutionErrorEvent> errors;
  bool did_run(const std::string& id) const { return known_.contains(id); }

 private:
  void add(std::string event) { events.push_back(std::move(event)); }
  std::unordered_set<std::string> known_;
};

// Validates and runs prompts over one executor. Prompts are JSON text.
class Bench {
 public:
  explicit Bench(CachePolicy cache = {}, ExecutorOptions options = {});
  // Fails the test if the prompt is refused. The recorder of the last run is `seen`.
  ExecutionResult run(const std::string& prompt, const std::vector<std::string>& targets = {});
  ExecutionResult run_json(const Json& prompt, const std::vector<std::string>& targets = {});
  Validation validate(const std::string& prompt, const ValidationOptions& options = {}) const;
  // Brightness of the pictures that an output node of the last run showed.
  std::vector<double> shown(const std::string& id) const;

  Environment environment;
  std::shared_ptr<Counters> counters;
  NodeRegistry registry;
  Executor executor;
  Recorder seen;
  CancelToken cancel;
  ExecutionResult result;
};

}  // namespace veneer::graph
