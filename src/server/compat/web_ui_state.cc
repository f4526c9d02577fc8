#include "server/compat/web_ui_state.h"

#include <utility>

namespace veneer::server {

WebUiState::Task::Task(WebUiState& state, std::string id) : state_(state), id_(std::move(id)) {
  const std::lock_guard lock(state_.mutex_);
  state_.tasks_.try_emplace(id_);
}

WebUiState::Task::~Task() {
  const std::lock_guard lock(state_.mutex_);
  state_.tasks_.erase(id_);
}

std::string WebUiState::checkpoint() const {
  const std::lock_guard lock(mutex_);
  return checkpoint_;
}

void WebUiState::choose(std::string checkpoint) {
  const std::lock_guard lock(mutex_);
  checkpoint_ = std::move(checkpoint);
}

std::optional<std::string> WebUiState::running(const jobs::JobQueue& queue) const {
  const std::vector<jobs::JobPtr> jobs = queue.running_jobs();
  const std::lock_guard lock(mutex_);
  for (const jobs::JobPtr& job : jobs) {
    if (tasks_.contains(job->id)) return job->id;
  }
  return std::nullopt;
}

WebUiState::Steps WebUiState::steps(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(id);
  return at == tasks_.end() ? Steps() : at->second;
}

void WebUiState::progress(const std::string& id, const graph::Progress& progress) {
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(id);
  if (at != tasks_.end()) at->second = {static_cast<int64_t>(progress.value), static_cast<int64_t>(progress.max)};
}

}  // namespace veneer::server
