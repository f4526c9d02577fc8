#include <algorithm>

#include "graph/check_ranges.h"
#include "graph/prompt_run.h"

namespace veneer::graph {

NodeContext PromptRun::context(NodeIndex node, size_t call) {
  return NodeContext(environment_, graph_[node].ref, request_.prompt_id, request_.cancel, this, static_cast<int>(call));
}

void PromptRun::start_calls(NodeIndex node) {
  const NodeDef& def = *graph_[node].view.def;
  Work& work = work_[node];
  std::vector<Inputs> calls = split_calls(def, work.gathered);
  work.calls.resize(calls.size());
  if (def.async) work.futures.resize(calls.size());
  bool waits = false;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (const Value* blocker = blocker_in(calls[i])) {
      work.calls[i].blocked = true;
      work.calls[i].blocker = pass_blocker(node, *blocker);
      continue;
    }
    check_ranges(def, calls[i]);
    if (def.async) {
      start_async(node, i, std::move(calls[i]));
      waits = true;
    } else {
      request_.cancel.check();
      if (def.output_node && tracker_) tracker_->before_output();
      NodeContext running = context(node, i);
      work.calls[i].result = def.run(running, calls[i]);
    }
  }
  if (!waits) after_calls(node);
}

void PromptRun::start_async(NodeIndex node, size_t call, Inputs inputs) {
  Work& work = work_[node];
  {
    std::unique_lock lock(async_mutex_);
    async_changed_.wait(lock, [&] { return async_running_ < parts_.options.max_async_calls; });
    ++async_running_;
    ++work.running;
  }
  const NodeDef& def = *graph_[node].view.def;
  const auto ended = [this, node, &work] {
    const std::lock_guard lock(async_mutex_);
    --async_running_;
    if (--work.running == 0) async_finished_.push_back(node);
    async_changed_.notify_all();
  };
  try {
    work.futures[call] = std::async(std::launch::async, [this, &def, ended, given = std::move(inputs), running = context(node, call)]() mutable {
      struct AtEnd {
        const decltype(ended)& tell;
        ~AtEnd() { tell(); }
      } at_end{ended};
      if (def.output_node && tracker_) tracker_->before_output();
      return def.run(running, given);
    });
  } catch (...) {
    ended();
    throw;
  }
}

void PromptRun::collect_async(NodeIndex node) {
  Work& work = work_[node];
  for (const auto& future : work.futures) {
    if (future.valid()) future.wait();
  }
  for (size_t i = 0; i < work.futures.size(); ++i) {
    if (work.futures[i].valid()) work.calls[i].result = work.futures[i].get();
  }
  work.futures.clear();
  after_calls(node);
}

// A message is told once, by the first node that meets it; behind it the blocker is silent.
Value PromptRun::pass_blocker(NodeIndex node, const Value& blocker) {
  const std::optional<std::string>& message = blocker.blocker_message();
  if (!message) return blocker;
  ExecutionErrorEvent event;
  event.prompt_id = request_.prompt_id;
  event.node_id = graph_[node].ref.node_id;
  event.node_type = graph_[node].view.class_type;
  event.executed = result_.executed;
  event.exception_message = "Execution Blocked: " + *message;
  event.exception_type = "ExecutionBlocked";
  event.fatal = false;
  notify([&](ExecutionObserver& o) { o.execution_error(event); });
  return Value::blocker();
}

void PromptRun::after_calls(NodeIndex node) {
  Work& work = work_[node];
  Json ui = merge_ui(work.calls);
  if (!ui.is_null()) {
    notify([&](ExecutionObserver& o) { o.executed(graph_[node].ref, ui, false); });
    records_[node] = {graph_[node].view.id, std::move(ui), graph_[node].ref};
  }
  if (!expand(node, work)) finish(node);
}

// Adds what the calls expanded into. Whether the node has to wait for it.
bool PromptRun::expand(NodeIndex node, Work& work) {
  const NodeIndex begin = graph_.size();
  bool has_links = false;
  for (const CallResult& call : work.calls) {
    if (call.blocked) continue;
    if (call.result.expansion.size() > parts_.options.max_nodes - std::min(parts_.options.max_nodes, graph_.size())) {
      throw Error(ErrorCode::invalid, "graph: expansions make too many nodes", {{"limit", std::to_string(parts_.options.max_nodes)}});
    }
    // Ids hold those of all parents, so that memory grows with the square of the depth: an endless expansion would take all of it long before there
    // are too many nodes.
    constexpr size_t kMostIdBytes = size_t{32} << 10;
    for (const ExpansionNode& added : call.result.expansion) {
      if (added.id.size() > kMostIdBytes) {
        throw Error(ErrorCode::invalid, "graph: expansions are nested too deeply",
                    {{"limit", std::to_string(kMostIdBytes) + " bytes of a node's id"}});
      }
    }
    graph_.expand(node, call.result.expansion, parts_.registry);
    for (const Source& output : call.result.outputs) has_links = has_links || std::holds_alternative<Link>(output);
  }
  if (graph_.size() == begin && !has_links) return false;
  work.expanded = true;
  expanded_owners_.insert(owner_of(graph_[node]));
  make_keys(begin);
  const bool counts = parts_.options.cache.kind == CachePolicy::Kind::none;
  const auto need = [&](NodeIndex needed) {
    if (counts) {
      uses_.add(needed);
      uses_.hold(needed);
      work.held.push_back(needed);
    }
    schedule_.wait_for(node, needed);
  };
  for (const CallResult& call : work.calls) {
    for (const Source& output : call.result.outputs) {
      const Link* link = std::get_if<Link>(&output);
      if (link == nullptr || call.blocked) continue;
      const NodeIndex behind = graph_.index_of(link->node_id);
      if (behind == kNoNode) throw Error(ErrorCode::not_found, "graph: expansion links to a node that does not exist", {{"link", link->node_id}});
      need(behind);
    }
  }
  for (NodeIndex child = begin; child < graph_.size(); ++child) {
    if (!graph_[child].view.def->output_node) continue;
    schedule_.want(child);  // even if its result is cached: its record is to be told
    need(child);
  }
  schedule_.resume(node);
  return true;
}

void PromptRun::finish(NodeIndex node) {
  Work& work = work_[node];
  RunNode& run_node = graph_[node];
  auto outcome = std::make_shared<NodeOutcome>();
  outcome->outputs = merge_outputs(*run_node.view.def, work.calls, [&](const Link& link) -> const std::vector<Value>& {
    bool missing = false;
    return values_behind(link, false, missing);
  });
  const auto record = records_.find(node);
  if (record != records_.end()) {
    outcome->ui = record->second.ui;
    outcome->ui_origin = record->second.origin;
  }
  run_node.outcome = outcome;
  const bool child = run_node.ref.parent_node_id.has_value();
  parts_.cache.store(run_node.key, std::move(outcome), child ? owner_of(run_node) : "");
  result_.executed.push_back(run_node.view.id);
  notify([&](ExecutionObserver& o) { o.node_finished(run_node.ref, false); });
  const std::vector<NodeIndex> held = std::move(work.held);
  work_.erase(node);
  done(node, held);
}

void PromptRun::take_cached(NodeIndex node) {
  const RunNode& run_node = graph_[node];
  notify([&](ExecutionObserver& o) {
    o.executed(run_node.ref, run_node.outcome->ui, true);
    o.node_finished(run_node.ref, true);
  });
  if (!run_node.outcome->ui.is_null()) records_[node] = {run_node.view.id, run_node.outcome->ui, run_node.outcome->ui_origin};
  done(node, {});
}

void PromptRun::done(NodeIndex node, const std::vector<NodeIndex>& held) {
  schedule_.done(node);
  if (parts_.options.cache.kind != CachePolicy::Kind::none) return;
  for (const Fingerprint& key : uses_.finish(node, held)) parts_.cache.drop(key);
}

}  // namespace veneer::graph
