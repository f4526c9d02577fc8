// One background thread that makes the next thing while the current one is in use. Only the latest request counts.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace veneer::residency {

// Members other than the destructor may be called from any thread. The destructor waits for the work at hand.
class Prefetcher {
 public:
  Prefetcher();
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Replaces a request that has not begun. What `work` throws is dropped: whoever needs the thing makes it again and learns why it cannot be.
  void request(std::function<void()> work);
  // Returns when no request waits or runs.
  void wait();

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::function<void()> next_;
  bool busy_ = false;
  std::jthread thread_;  // last: started when the rest is there
};

}  // namespace veneer::residency
