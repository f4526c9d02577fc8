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

#include "jobs/job_database.h"

namespace veneer::jobs {

// While one commit is on its way to the file, the changes that come meanwhile gather for the next. All members may be called from any thread.
class Journal {
 public:
  using Change = std::function<void(JobDatabase&)>;
  // Takes the ticket of changes.
  using Ticket = uint64_t;

  explicit Journal(const std::filesystem::path& file);
  // Writes what is still to be written.
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  Ticket post(Change change);
  // For `wait`, once: why the change could not be written is kept until then.
  Ticket post_awaited(Change change);
  // Returns once the change, and all before it, are in the file. Throws Error(internal) when it could not be written.
  void wait(Ticket ticket);
  // Everything posted so far.
  void flush();
  // "" while all is well, else why the newest commit was not written as it should.
  std::string fault() const;

 private:
  struct Posted {
    Change change;
    Ticket ticket = 0;
    bool awaited = false;
  };
  Ticket add(Change change, bool awaited);
  void run();
  // Returns why a change was not made, or "".
  std::string write(const std::vector<Posted>& batch);

  JobDatabase database_;
  mutable std::mutex mutex_;
  std::condition_variable posted_, written_;
  std::vector<Posted> changes_;
  Ticket last_posted_ = 0, last_written_ = 0;
  std::unordered_map<Ticket, std::string> failed_;  // awaited changes whose waiter has not come yet
  std::string fault_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace veneer::jobs
