// Waiters: requests that wait for a job to end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "jobs/job.h"

namespace veneer::server {

// All members may be called from any thread.
class Waiters {
 public:
  // Begin to wait before the job is submitted under this id, so that its end is not missed.
  class Ticket {
   public:
    Ticket(Waiters& waiters, std::string id);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    // The result, or nothing when the time is over or the waiting was ended.
    std::optional<jobs::JobResult> wait(std::chrono::milliseconds limit);

   private:
    Waiters& waiters_;
    const std::string id_;
  };

  void ended(const std::string& id, const jobs::JobResult& result);
  // Ends all waiting, now and later.
  void stop();
  bool stopped() const;
  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::optional<jobs::JobResult>> waiting_;
  bool stopped_ = false;
};

}  // namespace veneer::server
