// LoadGate: requests that read whole model files: few at once, so that handlers stay free for others.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

#include "server/http/message.h"

namespace veneer::server {

// All members may be called from any thread.
class LoadGate {
 public:
  static constexpr size_t kAtOnce = 2;
  static constexpr size_t kMayWait = 6;  // each holds a handler's thread

  // Room for one, until it goes out of scope.
  class Pass {
   public:
    // Waits for its turn. Throws HttpError(503) with Retry-After when too many wait.
    explicit Pass(LoadGate& gate) : gate_(gate) {
      std::unique_lock lock(gate_.mutex_);
      if (gate_.waiting_ >= kMayWait) throw HttpError(503, "busy", "The server loads other models at this moment");
      ++gate_.waiting_;
      gate_.free_.wait(lock, [&] { return gate_.working_ < kAtOnce; });
      --gate_.waiting_;
      ++gate_.working_;
    }
    ~Pass() {
      {
        const std::lock_guard lock(gate_.mutex_);
        --gate_.working_;
      }
      gate_.free_.notify_one();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    LoadGate& gate_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  size_t working_ = 0, waiting_ = 0;
};

}  // namespace veneer::server
