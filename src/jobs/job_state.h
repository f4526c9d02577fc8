// The states of a job and the only ways between them.
#pragma once

#include <cstdint>
#include <string_view>

namespace veneer::jobs {

enum class JobState : uint8_t {
  queued,
  running,
  succeeded,
  failed,
  cancelled,
  partial,  // what could run succeeded; outputs that validation refused were left out
};

// "queued", "running", ...
std::string_view to_string(JobState state);

// Succeeded, failed, cancelled or partial: the job will not change any more.
bool is_final(JobState state);

// queued -> running or cancelled; running -> any final state, or queued again when the program ended in the middle of it.
bool may_follow(JobState from, JobState next);

}  // namespace veneer::jobs
