// Journal: changes of the job database, made in order by a thread of its own, many in one commit.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "jobs/job_change.h"
#include "jobs/job_database.h"

namespace veneer::jobs {

// While one commit is on its way to the file, the changes that come meanwhile gather for the next. A change that nobody waits for and that cannot be
// written (a full disk) is kept in memory and tried again, with every commit and every second: how a job ended is not lost. All members may be called
// from any thread.
class Journal {
 public:
  using Change = std::function<void(JobDatabase&)>;
  // Takes the ticket of changes.
  using Ticket = uint64_t;

  explicit Journal(const std::filesystem::path& file, bool wait_for_disk = false);
  // Writes what is still to be written.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Ticket post(Change change);
  Ticket post(JobChange change);
  // The same, but not tried again.
  Ticket post_once(Change change);
  // For `wait`, once: why the change could not be written is kept until then. It is not written either where the disk refuses one before it.
  Ticket post_awaited(Change change);
  // Returns once the change, and all before it, were tried: they are in the file, or kept for another try. Throws Error(internal) when an awaited one
  // could not be written.
  void wait(Ticket ticket);
  // Everything posted so far.
  void flush();
  // "" while all is well, else why the newest commit was not written as it should.
  std::string fault() const;
  // Changes that are still to be written although they were tried.
  size_t kept() const;
  // Those of them that are steps of jobs, in order.
  std::vector<JobChangePtr> unwritten() const;

 private:
  enum class Failing : uint8_t { is_kept, is_told, is_dropped };
  struct Posted {
    Change change;
    Ticket ticket = 0;
    Failing failing = Failing::is_kept;
    int tries = 0;
    JobChangePtr meaning = {};
  };
  Ticket add(Change change, Failing failing, JobChangePtr meaning = {});
  void run();
  // Returns why a change was not made, or "". Those that are to be tried again are in `again`.
  std::string write(std::vector<Posted>& batch, std::vector<Posted>& again);

  JobDatabase database_;
  mutable std::mutex mutex_;
  std::condition_variable posted_, written_;
  std::vector<Posted> changes_;
  std::vector<Posted> kept_;             // in order, before all others
  size_t num_kept_ = 0;                  // as of the last pass, also while they are tried again
  std::vector<JobChangePtr> unwritten_;  // of them, likewise
  Ticket last_posted_ = 0, last_written_ = 0;
  std::unordered_map<Ticket, std::string> failed_;  // awaited changes whose waiter has not come yet
  std::string fault_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace veneer::jobs
