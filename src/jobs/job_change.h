// JobChange: a step of a job that is made whether the disk takes it or not, and what the jobs are while it is not written.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jobs/job_database.h"

namespace veneer::jobs {

// Immutable.
struct JobChange {
  enum class Kind : uint8_t { running, queued_again, finished, withdrawn };
  Kind kind = Kind::running;
  int64_t sequence = 0;
  int64_t time_ms = 0;  // of running and withdrawn
  JobResult result{};   // of finished

  void write(JobDatabase& database) const;
};
using JobChangePtr = std::shared_ptr<const JobChange>;

// The database as it will be once `changes`, in their order, are written: what the database itself would answer then. Some of them may be written
// already. For one thread; both must outlive it. Reads a line of every job when it is made, which is meant for the time of a fault.
class UnwrittenJobs {
 public:
  UnwrittenJobs(JobDatabase& database, const std::vector<JobChangePtr>& changes);

  void history(const HistoryRange& range, const std::function<void(const JobRow&)>& each);
  std::optional<JobRow> history_entry(const std::string& id);
  std::vector<JobRow> list(const JobFilter& filter, int64_t& total);
  std::optional<JobRow> find(const std::string& id);

 private:
  // Rows that changes reached say so: JobRow::unwritten.
  JobRow row(int64_t sequence);
  void enter_history(JobPlace& job);

  JobDatabase& database_;
  const std::vector<JobChangePtr>& changes_;
  std::vector<JobPlace> jobs_;  // by sequence
};

}  // namespace veneer::jobs
