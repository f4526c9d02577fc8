#include <new>

#include "graph/prompt_run.h"

namespace veneer::graph {
namespace {

constexpr char kMemoryHint[] =
    "This error means you ran out of memory.\n\nTIPS: If the workflow worked before you might have accidentally set the batch_size to a large "
    "number.";

// The exception classes that clients know.
std::string exception_type(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) {
    switch (known->code()) {
      case ErrorCode::not_found: return "FileNotFoundError";
      case ErrorCode::invalid:
      case ErrorCode::corrupt: return "ValueError";
      case ErrorCode::unsupported: return "NotImplementedError";
      case ErrorCode::no_memory: return "OutOfMemoryError";
      case ErrorCode::cancelled:
      case ErrorCode::internal: return "RuntimeError";
    }
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? "OutOfMemoryError" : "RuntimeError";
}

Json described(const Inputs& inputs) {
  Json all = Json::object();
  for (const auto& [name, values] : inputs.entries()) {
    Json list = Json::array();
    for (const Value& value : values) list.push_back(value.describe());
    all[name] = std::move(list);
  }
  return all;
}

}  // namespace

ExecutionErrorEvent PromptRun::error_event(NodeIndex node) const {
  ExecutionErrorEvent event;
  event.prompt_id = request_.prompt_id;
  event.node_id = graph_[node].ref.real_node_id;
  event.node_type = graph_[graph_.index_of(event.node_id)].view.class_type;
  event.executed = result_.executed;
  for (NodeIndex i = 0; i < graph_.prompt_size(); ++i) event.current_outputs.push_back(graph_[i].view.id);
  return event;
}

void PromptRun::fail(NodeIndex node, const std::exception& error) {
  ExecutionErrorEvent event = error_event(node);
  const auto* known = dynamic_cast<const Error*>(&error);
  if (known != nullptr && known->code() == ErrorCode::cancelled) {
    result_.status = ExecutionStatus::interrupted;
    const ExecutionInterruptedEvent interrupted{event.prompt_id, event.node_id, event.node_type, event.executed};
    notify([&](ExecutionObserver& o) { o.execution_interrupted(interrupted); });
    return;
  }
  if (known != nullptr) event.cause = *known;
  event.exception_type = exception_type(error);
  event.exception_message = std::string(error.what()) + "\n";
  if (event.exception_type == "OutOfMemoryError") event.exception_message += kMemoryHint;
  const auto work = work_.find(node);
  if (work != work_.end()) event.current_inputs = described(work->second.gathered);
  end_with(std::move(event));
}

void PromptRun::fail_cycle() {
  const std::vector<NodeIndex> cycle = schedule_.find_cycle();
  if (cycle.empty()) throw Error(ErrorCode::internal, "graph: nothing is ready, yet there is no cycle");
  // A cycle that an expansion closed is blamed on the node that expanded.
  NodeIndex blamed = cycle.front();
  for (const NodeIndex node : cycle) {
    if (graph_[node].ref.parent_node_id) {
      blamed = node;
      break;
    }
  }
  ExecutionErrorEvent event = error_event(blamed);
  event.exception_message = "Dependency cycle detected";
  event.exception_type = "graph.DependencyCycleError";
  end_with(std::move(event));
}

void PromptRun::end_with(ExecutionErrorEvent event) {
  result_.status = ExecutionStatus::error;
  notify([&](ExecutionObserver& o) { o.execution_error(event); });
  result_.error = std::move(event);
}

std::vector<UiRecord> PromptRun::records() {
  // Nodes that were not selected may still have a record in the cache.
  for (NodeIndex node = 0; node < graph_.prompt_size(); ++node) {
    if (records_.contains(node) || !at_hand(node) || graph_[node].outcome->ui.is_null()) continue;
    records_[node] = {graph_[node].view.id, graph_[node].outcome->ui, graph_[node].outcome->ui_origin};
  }
  std::vector<UiRecord> all;
  for (auto& [node, record] : records_) all.push_back(std::move(record));
  return all;
}

}  // namespace veneer::graph
