// Carries a caller's wish to cancel to the job while the job's own thread is busy.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/cancel.h"

namespace veneer::engine {

// Asks `wanted` every few hundredths of a second on a thread of its own and sets the token once it says yes. Ends with the object. Without a function
// it does nothing. A function that throws counts as a yes.
class CancelWatch {
 public:
  CancelWatch(const std::function<bool()>& wanted, CancelToken token);
  ~CancelWatch();
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace veneer::engine
