#include "jobs/job_state.h"

#include <gtest/gtest.h>

namespace veneer::jobs {
namespace {

TEST(JobState, ALastStateIsNeverLeft) {
  for (const JobState from : {JobState::succeeded, JobState::failed, JobState::cancelled, JobState::partial}) {
    EXPECT_TRUE(is_final(from));
    for (const JobState next : {JobState::queued, JobState::running, JobState::failed, JobState::cancelled}) EXPECT_FALSE(may_follow(from, next));
  }
}

TEST(JobState, AWaitingJobRunsOrIsWithdrawn) {
  EXPECT_TRUE(may_follow(JobState::queued, JobState::running));
  EXPECT_TRUE(may_follow(JobState::queued, JobState::cancelled));
  EXPECT_FALSE(may_follow(JobState::queued, JobState::succeeded));
}

TEST(JobState, ARunningJobMayBeQueuedAgain) {
  EXPECT_TRUE(may_follow(JobState::running, JobState::queued));
  EXPECT_FALSE(may_follow(JobState::running, JobState::running));
}

}  // namespace
}  // namespace veneer::jobs
