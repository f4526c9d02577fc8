#include "engine/cancel_watch.h"

#include <chrono>
#include <exception>
#include <utility>

namespace veneer::engine {
namespace {

// Short against what a person notices, long against the cost of asking.
constexpr std::chrono::milliseconds kInterval(30);

bool ask(const std::function<bool()>& wanted) {
  try {
    return wanted();
  } catch (const std::exception&) {
    return true;
  }
}

}  // namespace

CancelWatch::CancelWatch(const std::function<bool()>& wanted, CancelToken token) {
  if (!wanted) return;
  thread_ = std::thread([this, wanted, token = std::move(token)] {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      lock.unlock();
      const bool cancel = ask(wanted);
      lock.lock();
      if (cancel) {
        token.cancel();
        return;
      }
      changed_.wait_for(lock, kInterval, [this] { return ended_; });
    }
  });
}

CancelWatch::~CancelWatch() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace veneer::engine
