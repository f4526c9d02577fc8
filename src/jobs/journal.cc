#include "jobs/journal.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <set>
#include <utility>

#include "veneer/error.h"

namespace veneer::jobs {
namespace {

// Of a change that the disk is not to blame for.
constexpr int kMostTries = 5;

// What may be over later, without anything done about the change.
bool is_storage_fault(const std::exception& fault) {
  const auto* error = dynamic_cast<const Error*>(&fault);
  return error != nullptr && !error->find("storage").empty();
}

}  // namespace

Journal::Journal(const std::filesystem::path& file, bool wait_for_disk) : database_(file, wait_for_disk), thread_([this] { run(); }) {}

Journal::~Journal() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  posted_.notify_all();
  thread_.join();
}

Journal::Ticket Journal::post(Change change) { return add(std::move(change), Failing::is_kept); }

Journal::Ticket Journal::post(JobChange change) {
  auto shared = std::make_shared<const JobChange>(std::move(change));
  return add([shared](JobDatabase& db) { shared->write(db); }, Failing::is_kept, shared);
}

Journal::Ticket Journal::post_once(Change change) { return add(std::move(change), Failing::is_dropped); }

Journal::Ticket Journal::post_awaited(Change change) { return add(std::move(change), Failing::is_told); }

Journal::Ticket Journal::add(Change change, Failing failing, JobChangePtr meaning) {
  Ticket ticket = 0;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = changes_.empty();
    ticket = ++last_posted_;
    changes_.push_back({.change = std::move(change), .ticket = ticket, .failing = failing, .meaning = std::move(meaning)});
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

size_t Journal::kept() const {
  const std::lock_guard lock(mutex_);
  return num_kept_;
}

std::vector<JobChangePtr> Journal::unwritten() const {
  const std::lock_guard lock(mutex_);
  return unwritten_;
}

void Journal::run() {
  constexpr std::chrono::seconds kPause(1);
  std::unique_lock lock(mutex_);
  while (true) {
    const auto wanted = [this] { return ended_ || !changes_.empty(); };
    if (kept_.empty()) {
      posted_.wait(lock, wanted);
    } else {
      posted_.wait_for(lock, kPause, wanted);
    }
    const bool last = ended_ && changes_.empty();
    std::vector<Posted> batch = std::exchange(kept_, {});
    batch.insert(batch.end(), std::make_move_iterator(changes_.begin()), std::make_move_iterator(changes_.end()));
    changes_.clear();
    const Ticket newest = batch.empty() ? last_written_ : std::max(last_written_, batch.back().ticket);
    lock.unlock();
    std::vector<Posted> again;
    std::string fault = batch.empty() ? "" : write(batch, again);
    lock.lock();
    if (!batch.empty()) fault_ = std::move(fault);
    kept_ = std::move(again);
    num_kept_ = kept_.size();
    unwritten_.clear();
    for (const Posted& posted : kept_) {
      if (posted.meaning) unwritten_.push_back(posted.meaning);
    }
    last_written_ = newest;
    written_.notify_all();
    if (last) return;
  }
}

std::string Journal::write(std::vector<Posted>& batch, std::vector<Posted>& again) {
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
  const auto tell = [&](Ticket ticket, const std::string& why) {
    const std::lock_guard lock(mutex_);
    failed_.emplace(ticket, why);
  };
  // What the disk did not take of this pass stays before what was posted later: steps of a job keep their order, and what somebody waits for does not
  // go ahead of what it was said to follow.
  std::string refused;
  std::set<int64_t> jobs_behind;
  for (Posted& posted : batch) {
    if (posted.failing == Failing::is_told && !refused.empty()) {
      tell(posted.ticket, refused);
      continue;
    }
    if (posted.meaning && jobs_behind.contains(posted.meaning->sequence)) {
      again.push_back(std::move(posted));
      continue;
    }
    try {
      posted.change(database_);
    } catch (const std::exception& error) {
      fault = error.what();
      const bool by_disk = is_storage_fault(error);
      if (posted.failing == Failing::is_told) {
        tell(posted.ticket, fault);
      } else if (posted.failing == Failing::is_kept && (by_disk || ++posted.tries < kMostTries)) {
        if (by_disk) refused = fault;
        if (posted.meaning) jobs_behind.insert(posted.meaning->sequence);
        again.push_back(std::move(posted));
      }
    }
  }
  return fault;
}

}  // namespace veneer::jobs
