#include "server/model_watch.h"

#include <chrono>
#include <utility>

namespace veneer::server {

ModelWatch::ModelWatch(std::function<void()> look) : look_(std::move(look)), thread_([this] { run(); }) {}

ModelWatch::~ModelWatch() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

void ModelWatch::run() {
  constexpr std::chrono::seconds kInterval(2);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kInterval, [this] { return end_; })) {
    lock.unlock();
    try {
      look_();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a disk that fails now is looked at again
    }
    lock.lock();
  }
}

}  // namespace veneer::server
