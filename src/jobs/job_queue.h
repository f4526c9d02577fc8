// JobQueue: what waits and what runs, in memory, with every step on disk; and the history, on disk only.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jobs/job.h"
#include "jobs/job_database.h"
#include "jobs/journal.h"

namespace veneer::jobs {

struct QueueOptions {
  std::filesystem::path database;
  size_t max_waiting = 10'000;            // jobs
  size_t max_waiting_bytes = 512U << 20;  // of their JSON text
  size_t max_waiting_per_owner = 0;       // jobs of one API key; 0: no limit of its own
  int64_t max_history = 10'000;           // finished jobs
  // What becomes of a job that ran when the program ended: true runs it again, false records it as failed.
  bool rerun_cut_short = true;
  // Every commit waits for the disk: what was accepted survives a machine that stops, not only a program that does.
  bool wait_for_disk = false;
};

using JobPtr = std::shared_ptr<const Job>;

// All members may be called from any thread. Errors of the file system come as Error(internal).
class JobQueue {
 public:
  // Opens the database and takes up where an earlier program ended.
  explicit JobQueue(const QueueOptions& options);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  // Called, from whatever thread caused it, whenever jobs come or go, in the order in which they do: under the queue's lock, so it must not call
  // back. `remaining` counts those that wait or run. Set before the first job.
  void on_change(std::function<void(size_t remaining)> listener) { listener_ = std::move(listener); }

  // The next place in the queue; `front` gives one before all others.
  int64_t take_number(bool front);

  // Puts the job in the queue, once it is on disk. Throws Error(no_memory) with `limit` when the queue is full, Error(invalid) with `key` when the
  // idempotency key is taken (the job that has it is on disk then), Error(internal) when the disk does not take the job: no job starts unwritten.
  JobPtr submit(Job job);
  // The job that was submitted with this key before.
  std::optional<JobRow> find_idempotent(const std::string& owner, const std::string& key);

  // For workers.
  struct Next {
    JobPtr job;          // null: look at the rest
    bool stop = false;   // no more jobs
    bool woken = false;  // `wake` was called since the last time
  };
  // Waits for something to do. `wake_seen` is the caller's, 0 at first.
  Next next(uint64_t& wake_seen);
  // Ends every wait in `next` once: workers have something else to do.
  void wake();
  void finish(const JobPtr& job, const JobResult& result);

  // No job starts any more; those that wait stay on disk. With `cancel_running`, those that run are asked to stop and will run again.
  void stop(bool cancel_running = false);
  // Whether nothing runs now.
  bool idle() const;
  // Waits until nothing runs, at most that long.
  bool wait_idle(std::chrono::milliseconds limit);

  size_t remaining() const;
  size_t waiting() const;
  std::vector<JobPtr> running_jobs() const;
  // In the order in which they will run.
  std::vector<JobPtr> waiting_jobs() const;

  // Withdraws waiting jobs; running ones are untouched.
  size_t clear_waiting();
  size_t withdraw(const std::vector<std::string>& ids);
  // Asks running jobs to stop: all, or those of that id. Returns how many.
  size_t interrupt(const std::optional<std::string>& id);
  enum class CancelAnswer : uint8_t { cancelled, already_cancelled, finished, unknown };
  CancelAnswer cancel(const std::string& id);

  // The history, oldest first, with everything that has finished by now; what the disk did not take as well: see JobRow::unwritten.
  void history(const HistoryRange& range, const std::function<void(const JobRow&)>& each);
  std::optional<JobRow> history_entry(const std::string& id);
  // Return once it is done. Throw Error(internal) where the disk does not take it; then nothing has changed.
  void forget(const std::vector<std::string>& ids);
  void forget_all();
  // Jobs in any state.
  std::vector<JobRow> list(const JobFilter& filter, int64_t& total);
  std::optional<JobRow> find(const std::string& id);

  // "" while the database can be written, else why not. After a fault each call tries to write again.
  std::string fault();

 private:
  using Place = std::pair<double, int64_t>;  // number, sequence
  struct Running {
    JobPtr job;
    int64_t started_ms = 0;
    bool asked_to_stop = false;  // and to be run again
  };
  // Keeps others with the same key out of `submit`.
  class KeyClaim;
  // By `plain` from the database, or by `patched` while steps of jobs could not be written.
  template <typename Plain, typename Patched>
  auto read(Plain plain, Patched patched) -> decltype(plain(std::declval<JobDatabase&>()));
  void write_now(Journal::Change change);
  void restore();
  void report_cut_short(const JobRow& row);
  // With the lock held.
  void changed() const;
  JobPtr take_waiting(std::map<Place, JobPtr>::iterator at);
  void give_back_room(const Job& job);

  QueueOptions options_;
  std::function<void(size_t)> listener_;
  Journal journal_;
  std::mutex reader_mutex_;
  JobDatabase reader_;
  mutable std::mutex mutex_;
  std::condition_variable wanted_, ended_;
  std::map<Place, JobPtr> waiting_;
  std::vector<Running> running_;
  std::unordered_map<std::string, size_t> waiting_of_owner_;
  size_t waiting_bytes_ = 0;
  size_t arriving_ = 0;  // jobs on their way to the disk; the two above count them
  std::unordered_set<std::string> claimed_keys_;
  std::condition_variable key_free_;
  int64_t counter_ = 0;
  int64_t last_sequence_ = 0;
  uint64_t wakes_ = 0;
  int64_t finished_ = 0;
  bool stopped_ = false;
};

}  // namespace veneer::jobs
