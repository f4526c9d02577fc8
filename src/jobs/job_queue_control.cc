// Withdrawing, cancelling, and the history.
#include <algorithm>
#include <unordered_set>

#include "jobs/clock.h"
#include "jobs/job_queue.h"

namespace veneer::jobs {

size_t JobQueue::clear_waiting() {
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    while (!waiting_.empty()) {
      const JobPtr job = take_waiting(waiting_.begin());
      journal_.post([sequence = job->sequence, now = now_ms()](JobDatabase& db) { db.withdraw(sequence, now); });
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
      journal_.post([sequence = job->sequence, now = now_ms()](JobDatabase& db) { db.withdraw(sequence, now); });
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
  journal_.flush();
  const std::lock_guard lock(reader_mutex_);
  reader_.history(range, each);
}

std::optional<JobRow> JobQueue::history_entry(const std::string& id) {
  journal_.flush();
  const std::lock_guard lock(reader_mutex_);
  return reader_.history_entry(id);
}

void JobQueue::forget(const std::vector<std::string>& ids) {
  journal_.post([ids](JobDatabase& db) {
    for (const std::string& id : ids) db.forget(id);
  });
  journal_.flush();
}

void JobQueue::forget_all() {
  journal_.post([](JobDatabase& db) { db.forget_all(); });
  journal_.flush();
}

std::vector<JobRow> JobQueue::list(const JobFilter& filter, int64_t& total) {
  journal_.flush();
  const std::lock_guard lock(reader_mutex_);
  total = reader_.count(filter);
  return reader_.list(filter);
}

std::optional<JobRow> JobQueue::find(const std::string& id) {
  journal_.flush();
  const std::lock_guard lock(reader_mutex_);
  return reader_.find(id);
}

}  // namespace veneer::jobs
