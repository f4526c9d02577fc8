#include "jobs/job_state.h"

#include <array>
#include <cstddef>

namespace veneer::jobs {

std::string_view to_string(JobState state) {
  constexpr std::array<std::string_view, 6> kNames = {"queued", "running", "succeeded", "failed", "cancelled", "partial"};
  return kNames.at(static_cast<size_t>(state));
}

bool is_final(JobState state) { return state != JobState::queued && state != JobState::running; }

bool may_follow(JobState from, JobState next) {
  switch (from) {
    case JobState::queued: return next == JobState::running || next == JobState::cancelled;
    case JobState::running: return next != JobState::running;
    default: return false;
  }
}

}  // namespace veneer::jobs
