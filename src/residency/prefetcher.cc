#include "residency/prefetcher.h"

#include "base/parallel.h"

namespace veneer::residency {

Prefetcher::Prefetcher() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

Prefetcher::~Prefetcher() {
  thread_.request_stop();
  changed_.notify_all();
}

void Prefetcher::request(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    next_ = std::move(work);
  }
  changed_.notify_all();
}

void Prefetcher::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !next_ && !busy_; });
}

void Prefetcher::run(const std::stop_token& stop) {
  // The cores belong to what is running now.
  set_num_threads(1);
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return next_ != nullptr; })) {
    if (stop.stop_requested()) return;
    std::function<void()> work = std::move(next_);
    next_ = nullptr;
    busy_ = true;
    lock.unlock();
    try {
      work();
    } catch (...) {  // NOLINT(bugprone-empty-catch): see request()
    }
    work = nullptr;
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace veneer::residency
