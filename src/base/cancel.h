// Cooperative cancellation: one writer asks, many readers look.
#pragma once

#include <atomic>
#include <memory>

#include "veneer/error.h"

namespace veneer {

// Copies share one flag. All members may be called from any thread.
class CancelToken {
 public:
  CancelToken() : flag_(std::make_shared<std::atomic<bool>>(false)) {}
  void cancel() const { flag_->store(true, std::memory_order_relaxed); }
  bool cancelled() const { return flag_->load(std::memory_order_relaxed); }
  // Throws Error(cancelled) once `cancel` was called.
  void check() const {
    if (cancelled()) throw Error(ErrorCode::cancelled, "the job was cancelled");
  }

 private:
  std::shared_ptr<std::atomic<bool>> flag_;
};

}  // namespace veneer
