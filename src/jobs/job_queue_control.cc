// Withdrawing, cancelling, and the history.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "jobs/clock.h"
#include "jobs/job_queue.h"
#include "veneer/error.h"

namespace veneer::jobs {
namespace {

// The journal writes meanwhile.
class OneMoment {
 public:
  explicit OneMoment(JobDatabase& database) : database_(database) { database_.begin_reading(); }
  ~OneMoment() {
    try {
      database_.commit();
    } catch (const Error&) {
      // Nothing was written.
    }
  }
  OneMoment(const OneMoment&) = delete;
  OneMoment& operator=(const OneMoment&) = delete;

 private:
  JobDatabase& database_;
};

}  // namespace

template <typename Plain, typename Patched>
auto JobQueue::read(Plain plain, Patched patched) -> decltype(plain(std::declval<JobDatabase&>())) {
  journal_.flush();
  const std::vector<JobChangePtr> unwritten = journal_.unwritten();
  const std::lock_guard lock(reader_mutex_);
  const OneMoment moment(reader_);
  if (unwritten.empty()) return plain(reader_);
  UnwrittenJobs jobs(reader_, unwritten);
  return patched(jobs);
}

size_t JobQueue::clear_waiting() {
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
      const JobPtr job = take_waiting(waiting_.begin());
      journal_.post(JobChange{.kind = JobChange::Kind::withdrawn, .sequence = job->sequence, .time_ms = now_ms()});
      ++count;
    }
    if (count > 0) changed();
  }
  return count;
}

size_t JobQueue::withdraw(const std::vector<std::string>& ids) {
  const std::unordered_set<std::string> wanted(ids.begin(), ids.end());
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const auto here = at++;
      if (!wanted.contains(here->second->id)) continue;
      const JobPtr job = take_waiting(here);
      journal_.post(JobChange{.kind = JobChange::Kind::withdrawn, .sequence = job->sequence, .time_ms = now_ms()});
      ++count;
    }
    if (count > 0) changed();
  }
  return count;
}

size_t JobQueue::interrupt(const std::optional<std::string>& id) {
  const std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const Running& running : running_) {
    if (id && running.job->id != *id) continue;
    running.job->cancel.cancel();
    ++count;
  }
  return count;
}

JobQueue::CancelAnswer JobQueue::cancel(const std::string& id) {
  if (withdraw({id}) > 0) return CancelAnswer::cancelled;
  {
    const std::lock_guard lock(mutex_);
    for (const Running& running : running_) {
      if (running.job->id != id) continue;
      const bool again = running.job->cancel.cancelled();
      running.job->cancel.cancel();
      return again ? CancelAnswer::already_cancelled : CancelAnswer::cancelled;
    }
  }
  const std::optional<JobRow> row = find(id);
  if (!row) return CancelAnswer::unknown;
  return row->state == JobState::cancelled ? CancelAnswer::already_cancelled : CancelAnswer::finished;
}

void JobQueue::history(const HistoryRange& range, const std::function<void(const JobRow&)>& each) {
  read([&](JobDatabase& db) { db.history(range, each); }, [&](UnwrittenJobs& jobs) { jobs.history(range, each); });
}

std::optional<JobRow> JobQueue::history_entry(const std::string& id) {
  return read([&](JobDatabase& db) { return db.history_entry(id); }, [&](UnwrittenJobs& jobs) { return jobs.history_entry(id); });
}

void JobQueue::forget(const std::vector<std::string>& ids) {
  write_now([ids](JobDatabase& db) {
    for (const std::string& id : ids) db.forget(id);
  });
}

void JobQueue::forget_all() {
  write_now([](JobDatabase& db) { db.forget_all(); });
}

std::vector<JobRow> JobQueue::list(const JobFilter& filter, int64_t& total) {
  return read(
      [&](JobDatabase& db) {
        total = db.count(filter);
        return db.list(filter);
      },
      [&](UnwrittenJobs& jobs) { return jobs.list(filter, total); });
}

std::optional<JobRow> JobQueue::find(const std::string& id) {
  return read([&](JobDatabase& db) { return db.find(id); }, [&](UnwrittenJobs& jobs) { return jobs.find(id); });
}

// How jobs ended that the disk did not take: written later, they would be back in the history.
void JobQueue::write_now(Journal::Change change) {
  journal_.flush();
  if (journal_.kept() > 0) throw Error(ErrorCode::internal, "the job database cannot be written", {{"reason", journal_.fault()}});
  journal_.wait(journal_.post_awaited(std::move(change)));
}

}  // namespace veneer::jobs
