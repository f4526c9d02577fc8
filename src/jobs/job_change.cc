#include "jobs/job_change.h"

#include <algorithm>
#include <iterator>

#include "veneer/error.h"

namespace veneer::jobs {
namespace {

using Kind = JobChange::Kind;

// The state that a change leads to from the one it finds; the same where it has been made already.
JobState state_after(const JobChange& change, JobState state) {
  switch (change.kind) {
    case Kind::running: return state == JobState::queued ? JobState::running : state;
    case Kind::queued_again: return state == JobState::running ? JobState::queued : state;
    case Kind::finished: return is_final(state) ? state : change.result.state;
    case Kind::withdrawn: return state == JobState::queued ? JobState::cancelled : state;
  }
  return state;
}

}  // namespace

void JobChange::write(JobDatabase& database) const {
  switch (kind) {
    case Kind::running: return database.set_running(sequence, time_ms);
    case Kind::queued_again: return database.set_queued_again(sequence);
    case Kind::finished: return database.finish(sequence, result);
    case Kind::withdrawn: return database.withdraw(sequence, time_ms);
  }
}

UnwrittenJobs::UnwrittenJobs(JobDatabase& database, const std::vector<JobChangePtr>& changes)
    : database_(database), changes_(changes), jobs_(database.places()) {
  for (const JobChangePtr& change : changes_) {
    const auto job = std::ranges::lower_bound(jobs_, change->sequence, {}, &JobPlace::sequence);
    if (job == jobs_.end() || job->sequence != change->sequence) continue;
    const JobState state = state_after(*change, job->state);
    const bool ends = change->kind == Kind::finished && state != job->state;
    job->state = state;
    if (ends) enter_history(*job);
  }
}

// As JobDatabase::finish does it.
void UnwrittenJobs::enter_history(JobPlace& job) {
  int64_t last = 0;
  const int64_t sequence = job.sequence;
  const std::string id = job.id;
  int64_t place = 0;
  for (const JobPlace& other : jobs_) {
    last = std::max(last, other.place);
    if (other.id == id && other.place > 0 && other.sequence != sequence) place = other.place;
  }
  job.place = place > 0 ? place : last + 1;
  if (place > 0) std::erase_if(jobs_, [&](const JobPlace& other) { return other.id == id && other.place > 0 && other.sequence != sequence; });
}

JobRow UnwrittenJobs::row(int64_t sequence) {
  std::optional<JobRow> found = database_.row(sequence);
  if (!found) throw Error(ErrorCode::internal, "a job is not in the database any more", {{"sequence", std::to_string(sequence)}});
  JobRow& row = *found;
  for (const JobChangePtr& change : changes_) {
    if (change->sequence != sequence) continue;
    const JobState state = state_after(*change, row.state);
    if (state == row.state) continue;
    row.state = state;
    row.unwritten = true;
    switch (change->kind) {
      case Kind::running: row.result.started_ms = change->time_ms; break;
      case Kind::queued_again: ++row.attempts; break;
      case Kind::finished: row.result = change->result; break;
      case Kind::withdrawn: row.result.ended_ms = change->time_ms; break;
    }
    row.result.state = state;
  }
  return std::move(row);
}

void UnwrittenJobs::history(const HistoryRange& range, const std::function<void(const JobRow&)>& each) {
  std::vector<JobPlace> entries;
  std::ranges::copy_if(jobs_, std::back_inserter(entries), [](const JobPlace& job) { return job.place > 0; });
  std::ranges::sort(entries, {}, &JobPlace::place);
  const auto [first, count] = range.window(static_cast<int64_t>(entries.size()));
  for (int64_t i = first; i < first + count; ++i) each(row(entries[static_cast<size_t>(i)].sequence));
}

std::optional<JobRow> UnwrittenJobs::history_entry(const std::string& id) {
  const auto at = std::find_if(jobs_.rbegin(), jobs_.rend(), [&](const JobPlace& job) { return job.id == id && job.place > 0; });
  return at == jobs_.rend() ? std::nullopt : std::optional(row(at->sequence));
}

std::optional<JobRow> UnwrittenJobs::find(const std::string& id) {
  const auto at = std::find_if(jobs_.rbegin(), jobs_.rend(), [&](const JobPlace& job) { return job.id == id; });
  return at == jobs_.rend() ? std::nullopt : std::optional(row(at->sequence));
}

std::vector<JobRow> UnwrittenJobs::list(const JobFilter& filter, int64_t& total) {
  std::vector<int64_t> wanted;
  for (const JobPlace& job : jobs_) {
    if (filter.states.empty() || std::ranges::find(filter.states, job.state) != filter.states.end()) wanted.push_back(job.sequence);
  }
  if (!filter.ascending) std::ranges::reverse(wanted);
  total = static_cast<int64_t>(wanted.size());
  std::vector<JobRow> out;
  for (int64_t i = filter.offset; i < total && i - filter.offset < filter.limit; ++i) out.push_back(row(wanted[static_cast<size_t>(i)]));
  return out;
}

}  // namespace veneer::jobs
