// What the A1111 API remembers between requests: the chosen model, and the jobs it started.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "graph/execution_observer.h"
#include "jobs/job_queue.h"

namespace veneer::server {

// All members may be called from any thread.
class WebUiState {
 public:
  struct Steps {
    int64_t done = 0, of = 0;
  };
  // A request that waits for its job.
  class Task {
   public:
    Task(WebUiState& state, std::string id);
    ~Task();
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

   private:
    WebUiState& state_;
    const std::string id_;
  };

  // "" for the first there is.
  std::string checkpoint() const;
  void choose(std::string checkpoint);
  // The job of this API that runs now.
  std::optional<std::string> running(const jobs::JobQueue& queue) const;
  Steps steps(const std::string& id) const;
  // Told of every job's progress; remembers that of its own.
  void progress(const std::string& id, const graph::Progress& progress);

 private:
  mutable std::mutex mutex_;
  std::string checkpoint_;
  std::unordered_map<std::string, Steps> tasks_;
};

}  // namespace veneer::server
