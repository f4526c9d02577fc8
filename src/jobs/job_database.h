// JobDatabase: the SQL of jobs and history. All of it is here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/job.h"
#include "jobs/sqlite.h"

namespace veneer::jobs {

// A job as the database keeps it.
struct JobRow {
  int64_t sequence = 0;
  JobState state = JobState::queued;
  std::string id, number, prompt, extra, outputs, dropped, client_id, owner, idempotency_key;
  int64_t created_ms = 0;
  int attempts = 0;
  JobResult result;        // of finished jobs
  bool unwritten = false;  // the state is the true one, and the disk has an earlier one

  // The entry of GET /history: {"prompt", "outputs", "status", "meta"}.
  std::string history_text() const;
};

// Which entries of the history, counted from the oldest: the newest `max` without an offset, else up to `max` from there on.
struct HistoryRange {
  std::optional<int64_t> max;
  std::optional<int64_t> offset;

  // First entry and how many, of `total`.
  std::pair<int64_t, int64_t> window(int64_t total) const;
};

// What GET /jobs asks for. An empty list of states means all.
struct JobFilter {
  std::vector<JobState> states;
  int64_t offset = 0;
  int64_t limit = 200;
  bool ascending = false;  // oldest first
};

// A job in short.
struct JobPlace {
  int64_t sequence = 0;
  JobState state = JobState::queued;
  int64_t place = 0;  // in the history; 0 for none
  std::string id;
};

// One connection; one thread at a time. Changes are made between `begin` and `commit`. Throws Error(invalid) when the file system refuses.
class JobDatabase {
 public:
  // Opens or makes the file, in WAL mode: what was committed survives the end of the process, and readers do not wait for the writer.
  // Throws Error(unsupported) for a file that a newer version made.
  // `wait_for_disk`: it survives the end of the machine as well, and each commit takes as long as the disk.
  explicit JobDatabase(const std::filesystem::path& file, bool wait_for_disk = false);

  void begin() { connection_.run("BEGIN IMMEDIATE"); }
  // For readers: all they see is of one moment.
  void begin_reading() { connection_.run("BEGIN"); }
  void commit() { connection_.run("COMMIT"); }
  void rollback() { connection_.run("ROLLBACK"); }

  void insert(const Job& job);
  void set_running(int64_t sequence, int64_t started_ms);
  // A running job whose program ended: counts the attempt.
  void set_queued_again(int64_t sequence);
  // The newest job of an id takes the place in the history of an earlier one, whose row goes.
  void finish(int64_t sequence, const JobResult& result);
  // A waiting job that was withdrawn: it has no entry in the history.
  void withdraw(int64_t sequence, int64_t ended_ms);
  void forget(const std::string& id);
  void forget_all();
  // Keeps the newest `max` finished jobs.
  void trim(int64_t max);

  // Jobs that are queued or running, in order of arrival.
  std::vector<JobRow> unfinished();
  // Calls `each` for the entries of the history, oldest first.
  void history(const HistoryRange& range, const std::function<void(const JobRow&)>& each);
  // The newest finished job of that id that ran.
  std::optional<JobRow> history_entry(const std::string& id);
  std::vector<JobRow> list(const JobFilter& filter);
  int64_t count(const JobFilter& filter);
  // The newest job of that id in any state.
  std::optional<JobRow> find(const std::string& id);
  std::optional<JobRow> row(int64_t sequence);
  // All jobs, by sequence.
  std::vector<JobPlace> places();
  std::optional<JobRow> find_idempotent(const std::string& owner, const std::string& key);
  int64_t last_sequence();
  // Writes something that changes nothing. Throws where nothing can be written.
  void probe();
  // "" when all is well, else what SQLite's own check found.
  std::string check();

 private:
  Sqlite connection_;
  Statement insert_, running_, finish_, forget_older_, old_place_, entry_;
};

}  // namespace veneer::jobs
