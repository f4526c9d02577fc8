#include "graph/prompt_run.h"

namespace veneer::graph {

PromptRun::PromptRun(RunParts parts, const Prompt& prompt, const ExecutionRequest& request, ExecutionObserver& observer)
    : parts_(parts),
      environment_(parts.environment),
      submitted_(prompt),
      request_(request),
      observer_(observer),
      graph_(prompt, parts.registry),
      schedule_(graph_, [this](NodeIndex node) { return at_hand(node); }),
      uses_(graph_) {}

PromptRun::~PromptRun() = default;

ExecutionResult PromptRun::run() {
  begin();
  loop();
  end_async();
  if (result_.status == ExecutionStatus::success) notify([&](ExecutionObserver& o) { o.execution_success(request_.prompt_id); });
  result_.records = records();
  parts_.cache.end(expanded_owners_);
  return std::move(result_);
}

void PromptRun::begin() {
  if (const auto* tracking = environment_.find<ValueTracking>()) tracker_ = tracking->start(request_.prompt_id);
  if (tracker_) tracker_->add_services(environment_);
  notify([&](ExecutionObserver& o) { o.execution_start(request_.prompt_id); });
  make_keys(0);
  std::vector<Fingerprint> keys;
  std::unordered_set<std::string> owners;
  for (NodeIndex i = 0; i < graph_.size(); ++i) {
    keys.push_back(graph_[i].key);
    owners.insert(owner_of(graph_[i]));
  }
  parts_.cache.begin(keys, owners);
  parts_.states.keep(owners);
  std::vector<std::string> cached;
  for (NodeIndex i = 0; i < graph_.size(); ++i) {
    if (at_hand(i)) cached.push_back(graph_[i].view.id);
  }
  notify([&](ExecutionObserver& o) { o.execution_cached(request_.prompt_id, cached); });
}

void PromptRun::make_keys(NodeIndex first) {
  KeyMaker(graph_, environment_, parts_.nonce, [this](const NodeRef& node, const std::string& text) {
    notify([&](ExecutionObserver& o) { o.remark(node, text); });
  }).make(first);
}

void PromptRun::loop() {
  for (const std::string& output : request_.outputs) {
    const NodeIndex node = graph_.index_of(output);
    if (node == kNoNode) continue;
    if (parts_.options.cache.kind == CachePolicy::Kind::none) uses_.add(node);
    schedule_.want(node);
  }
  while (schedule_.unfinished() > 0 && result_.status == ExecutionStatus::success) {
    const NodeIndex node = next();
    if (node == kNoNode) {
      fail_cycle();
      return;
    }
    try {
      step(node);
    } catch (const std::exception& error) {
      fail(node, error);
    }
  }
}

// After an error async calls may still be at work on this object.
void PromptRun::end_async() {
  if (result_.status == ExecutionStatus::success) return;
  {
    const std::lock_guard lock(async_mutex_);
    if (async_running_ > 0) request_.cancel.cancel();
  }
  for (const auto& [node, work] : work_) {
    for (const auto& future : work.futures) {
      if (future.valid()) future.wait();
    }
  }
  work_.clear();
}

// The next node to look at: one whose async calls ended, else a ready one, else one whose calls are yet to end.
NodeIndex PromptRun::next() {
  std::unique_lock lock(async_mutex_);
  if (async_finished_.empty()) {
    const NodeIndex ready = schedule_.take();
    if (ready != kNoNode || async_running_ == 0) return ready;
    async_changed_.wait(lock, [&] { return !async_finished_.empty(); });
  }
  const NodeIndex node = async_finished_.back();
  async_finished_.pop_back();
  return node;
}

void PromptRun::step(NodeIndex node) {
  const auto begun = work_.find(node);
  if (begun != work_.end()) {
    if (begun->second.expanded) return finish(node);
    if (!begun->second.futures.empty()) return collect_async(node);
  }
  if (at_hand(node)) return take_cached(node);
  request_.cancel.check();
  notify([&](ExecutionObserver& o) { o.executing(graph_[node].ref); });
  std::unordered_set<std::string> missing;
  Inputs gathered = gather(node, missing);
  Work& work = work_[node];
  work.gathered = std::move(gathered);
  if (wait_for_lazy(node, work.gathered, missing)) {
    work_.erase(node);
    return;
  }
  start_calls(node);
}

const std::string& PromptRun::owner_of(const RunNode& node) {
  const std::string& real = node.ref.real_node_id;
  const auto known = owners_.find(real);
  if (known != owners_.end()) return known->second;
  return owners_.emplace(real, owner_name(real, graph_[graph_.index_of(real)].view.class_type)).first->second;
}

const Json& PromptRun::prompt() {
  std::call_once(prompt_once_, [&] { prompt_json_ = submitted_.to_json(); });
  return prompt_json_;
}

void PromptRun::progress(const NodeRef& node, const Progress& progress) {
  notify([&](ExecutionObserver& o) { o.progress(node, progress); });
}

void PromptRun::progress_text(const NodeRef& node, const std::string& text) {
  notify([&](ExecutionObserver& o) { o.progress_text(node, text); });
}

std::shared_ptr<void> PromptRun::state(const NodeRef& node, std::type_index type, std::shared_ptr<void> (*make)()) {
  const PromptNode* outermost = submitted_.find(node.real_node_id);
  return parts_.states.get(node, owner_name(node.real_node_id, outermost == nullptr ? "" : outermost->class_type), type, make);
}

}  // namespace veneer::graph
