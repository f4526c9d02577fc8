#include "server/waiters.h"

#include <utility>

namespace veneer::server {

Waiters::Ticket::Ticket(Waiters& waiters, std::string id) : waiters_(waiters), id_(std::move(id)) {
  const std::lock_guard lock(waiters_.mutex_);
  waiters_.waiting_.try_emplace(id_);
}

Waiters::Ticket::~Ticket() {
  const std::lock_guard lock(waiters_.mutex_);
  waiters_.waiting_.erase(id_);
}

std::optional<jobs::JobResult> Waiters::Ticket::wait(std::chrono::milliseconds limit) {
  std::unique_lock lock(waiters_.mutex_);
  waiters_.changed_.wait_for(lock, limit, [this] { return waiters_.stopped_ || waiters_.waiting_.at(id_).has_value(); });
  return waiters_.waiting_.at(id_);
}

void Waiters::ended(const std::string& id, const jobs::JobResult& result) {
  {
    const std::lock_guard lock(mutex_);
    const auto at = waiting_.find(id);
    if (at == waiting_.end()) return;
    at->second = result;
  }
  changed_.notify_all();
}

void Waiters::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool Waiters::stopped() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

size_t Waiters::size() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace veneer::server
