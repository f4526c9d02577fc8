#include "jobs/journal.h"

#include <utility>

#include "veneer/error.h"

namespace veneer::jobs {

Journal::Journal(const std::filesystem::path& file) : database_(file), thread_([this] { run(); }) {}

Journal::~Journal() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  posted_.notify_all();
  thread_.join();
}

Journal::Ticket Journal::post(Change change) { return add(std::move(change), false); }

Journal::Ticket Journal::post_awaited(Change change) { return add(std::move(change), true); }

Journal::Ticket Journal::add(Change change, bool awaited) {
  Ticket ticket = 0;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = changes_.empty();
    ticket = ++last_posted_;
    changes_.push_back({std::move(change), ticket, awaited});
  }
  if (first) posted_.notify_one();
  return ticket;
}

void Journal::wait(Ticket ticket) {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [&] { return last_written_ >= ticket; });
  const auto fault = failed_.extract(ticket);
  if (!fault.empty()) throw Error(ErrorCode::internal, "the job database cannot be written", {{"reason", fault.mapped()}});
}

void Journal::flush() {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this, ticket = last_posted_] { return last_written_ >= ticket; });
}

std::string Journal::fault() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void Journal::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    posted_.wait(lock, [this] { return ended_ || !changes_.empty(); });
    if (changes_.empty()) return;
    const std::vector<Posted> batch = std::exchange(changes_, {});
    lock.unlock();
    std::string fault = write(batch);
    lock.lock();
    fault_ = std::move(fault);
    last_written_ = batch.back().ticket;
    written_.notify_all();
  }
}

std::string Journal::write(const std::vector<Posted>& batch) {
  try {
    database_.begin();
    for (const Posted& posted : batch) posted.change(database_);
    database_.commit();
    return {};
  } catch (const std::exception&) {
    // One bad change must not take the others with it.
  }
  std::string fault;
  try {
    database_.rollback();
  } catch (const std::exception&) {
    // Nothing was begun.
  }
  for (const Posted& posted : batch) {
    try {
      posted.change(database_);
    } catch (const std::exception& error) {
      fault = error.what();
      if (!posted.awaited) continue;
      const std::lock_guard lock(mutex_);
      failed_.emplace(posted.ticket, fault);
    }
  }
  return fault;
}

}  // namespace veneer::jobs
