#include "jobs/job_queue.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/json_text.h"
#include "jobs/sqlite.h"
#include "veneer/error.h"

namespace veneer::jobs {
namespace {

namespace fs = std::filesystem;

class JobQueueTest : public ::testing::Test {
 protected:
  JobQueueTest() {
    folder_ = fs::temp_directory_path() /
              ("veneer_jobs_" + std::to_string(::getpid()) + "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
    options_.database = folder_ / "jobs.db";
  }
  ~JobQueueTest() override { fs::remove_all(folder_); }

  static Job job(const std::string& id, double number = 0) {
    Job out;
    out.id = id;
    out.number = number;
    out.prompt_text = R"({"1": {"class_type": "A", "inputs": {}}})";
    out.prompt = graph::Prompt::from_json(graph::parse_json(out.prompt_text));
    out.extra_text = "{}";
    out.extra_data = graph::Json::object();
    out.outputs = {"1"};
    out.outputs_text = R"(["1"])";
    return out;
  }
  static JobPtr start(JobQueue& queue) {
    uint64_t seen = 0;
    return queue.next(seen).job;
  }
  static void succeed(JobQueue& queue, const JobPtr& job) {
    JobResult result;
    result.state = JobState::succeeded;
    result.ended_ms = 5;
    queue.finish(job, result);
  }
  static std::vector<std::string> history(JobQueue& queue, HistoryRange range = {}) {
    std::vector<std::string> ids;
    queue.history(range, [&](const JobRow& row) { ids.push_back(row.id); });
    return ids;
  }

  fs::path folder_;
  QueueOptions options_;
};

TEST_F(JobQueueTest, LowerNumbersRunFirstAndEqualOnesInOrderOfArrival) {
  JobQueue queue(options_);
  queue.submit(job("b", 2));
  queue.submit(job("a1", 1));
  queue.submit(job("a2", 1));
  for (const char* want : {"a1", "a2", "b"}) EXPECT_EQ(start(queue)->id, want);
}

TEST_F(JobQueueTest, AFrontNumberIsBeforeAllOthersAndTheCounterGoesOn) {
  JobQueue queue(options_);
  EXPECT_EQ(queue.take_number(false), 0);
  EXPECT_EQ(queue.take_number(true), -1);
  EXPECT_EQ(queue.take_number(false), 2);
}

TEST_F(JobQueueTest, AFullQueueRefuses) {
  options_.max_waiting = 1;
  JobQueue queue(options_);
  queue.submit(job("a"));
  try {
    queue.submit(job("b"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::no_memory);
    EXPECT_EQ(error.find("limit"), "1");
  }
  EXPECT_EQ(queue.remaining(), 1U);
}

TEST_F(JobQueueTest, AKeyCannotTakeTheWholeQueue) {
  options_.max_waiting_per_owner = 1;
  JobQueue queue(options_);
  Job mine = job("a");
  mine.owner = "me";
  queue.submit(mine);
  EXPECT_THROW(queue.submit(mine), Error);
  Job other = job("b");
  other.owner = "you";
  EXPECT_NO_THROW(queue.submit(other));
}

TEST_F(JobQueueTest, WaitingJobsAreThereAfterARestart) {
  {
    JobQueue queue(options_);
    queue.submit(job("a", 3));
    queue.submit(job("b", 1));
  }
  JobQueue queue(options_);
  EXPECT_EQ(start(queue)->id, "b");
  EXPECT_EQ(start(queue)->outputs, std::vector<std::string>{"1"});
  EXPECT_GT(queue.take_number(false), -1);
}

TEST_F(JobQueueTest, TheFileSaysThatAJobRunsBeforeItDoes) {
  JobQueue queue(options_);
  for (const char* id : {"a", "b", "c", "d"}) {
    queue.submit(job(id));
    start(queue);
    Sqlite connection(options_.database);
    Statement asked(connection, "SELECT state FROM jobs WHERE id = ?");
    asked.bind(id);
    int64_t state = -1;
    while (asked.step()) state = asked.integer(0);
    EXPECT_EQ(state, static_cast<int64_t>(JobState::running)) << id;
  }
}

TEST_F(JobQueueTest, AJobThatWasCutShortIsRunAgainAndSaysSo) {
  {
    JobQueue queue(options_);
    queue.submit(job("a"));
    start(queue);
  }
  JobQueue queue(options_);
  const JobPtr again = start(queue);
  EXPECT_EQ(again->id, "a");
  EXPECT_EQ(again->attempts, 1);
}

TEST_F(JobQueueTest, AJobThatWasCutShortFiveTimesIsReportedAndNotRunAgain) {
  {
    JobQueue queue(options_);
    queue.submit(job("a"));
    start(queue);
  }
  for (int run = 1; run <= 5; ++run) {
    JobQueue queue(options_);
    EXPECT_EQ(start(queue)->attempts, run);
  }
  JobQueue queue(options_);
  EXPECT_EQ(queue.remaining(), 0U);
  const auto entry = queue.history_entry("a");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->state, JobState::failed);
}

TEST_F(JobQueueTest, AJobThatWasCutShortIsReportedWhereThatIsThePolicy) {
  {
    JobQueue queue(options_);
    queue.submit(job("a"));
    start(queue);
  }
  options_.rerun_cut_short = false;
  JobQueue queue(options_);
  EXPECT_EQ(queue.remaining(), 0U);
  const auto entry = queue.history_entry("a");
  ASSERT_TRUE(entry.has_value());
  EXPECT_EQ(entry->state, JobState::failed);
  EXPECT_NE(entry->history_text().find("ServerRestart"), std::string::npos);
}

TEST_F(JobQueueTest, AStoppedJobWaitsForTheNextStart) {
  {
    JobQueue queue(options_);
    queue.submit(job("a"));
    const JobPtr running = start(queue);
    queue.stop(true);
    EXPECT_TRUE(running->cancel.cancelled());
    JobResult result;
    result.state = JobState::cancelled;
    queue.finish(running, result);
  }
  JobQueue queue(options_);
  EXPECT_EQ(start(queue)->id, "a");
}

TEST_F(JobQueueTest, CancellingAnswersByTheStateOfTheJob) {
  JobQueue queue(options_);
  queue.submit(job("run"));
  const JobPtr running = start(queue);
  queue.submit(job("wait"));
  EXPECT_EQ(queue.cancel("none"), JobQueue::CancelAnswer::unknown);
  EXPECT_EQ(queue.cancel("wait"), JobQueue::CancelAnswer::cancelled);
  EXPECT_EQ(queue.cancel("wait"), JobQueue::CancelAnswer::already_cancelled);
  EXPECT_FALSE(running->cancel.cancelled());
  EXPECT_EQ(queue.cancel("run"), JobQueue::CancelAnswer::cancelled);
  EXPECT_EQ(queue.cancel("run"), JobQueue::CancelAnswer::already_cancelled);
  EXPECT_TRUE(running->cancel.cancelled());
}

TEST_F(JobQueueTest, AFinishedJobCannotBeCancelled) {
  JobQueue queue(options_);
  queue.submit(job("a"));
  succeed(queue, start(queue));
  EXPECT_EQ(queue.cancel("a"), JobQueue::CancelAnswer::finished);
  EXPECT_EQ(queue.find("a")->state, JobState::succeeded);
}

TEST_F(JobQueueTest, WithdrawnJobsAreNotInTheHistory) {
  JobQueue queue(options_);
  queue.submit(job("a"));
  EXPECT_EQ(queue.withdraw({"a", "b"}), 1U);
  EXPECT_TRUE(history(queue).empty());
  EXPECT_EQ(queue.find("a")->state, JobState::cancelled);
}

TEST_F(JobQueueTest, TheHistoryHasOneEntryPerIdInItsFirstPlace) {
  JobQueue queue(options_);
  for (const char* id : {"x", "y", "x"}) {
    queue.submit(job(id));
    succeed(queue, start(queue));
  }
  EXPECT_EQ(history(queue), (std::vector<std::string>{"x", "y"}));
}

TEST_F(JobQueueTest, HistoryWindows) {
  JobQueue queue(options_);
  for (int i = 0; i < 5; ++i) {
    queue.submit(job(std::to_string(i)));
    succeed(queue, start(queue));
  }
  EXPECT_EQ(history(queue, {.max = 2, .offset = {}}), (std::vector<std::string>{"3", "4"}));
  EXPECT_EQ(history(queue, {.max = 2, .offset = 1}), (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(history(queue, {.max = {}, .offset = 4}), (std::vector<std::string>{"4"}));
  EXPECT_TRUE(history(queue, {.max = 2, .offset = 5}).empty());
  EXPECT_TRUE(history(queue, {.max = 0, .offset = {}}).empty());
  queue.forget({"1", "none"});
  EXPECT_EQ(history(queue).size(), 4U);
  queue.forget_all();
  EXPECT_TRUE(history(queue).empty());
}

TEST_F(JobQueueTest, AnIdempotencyKeyIsTakenOnce) {
  JobQueue queue(options_);
  Job keyed = job("a");
  keyed.idempotency_key = "k";
  queue.submit(keyed);
  EXPECT_EQ(queue.find_idempotent("", "k")->id, "a");
  EXPECT_FALSE(queue.find_idempotent("other", "k").has_value());
  EXPECT_THROW(queue.submit(keyed), Error);
}

TEST_F(JobQueueTest, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(options_.database) << std::string(4096, 'x');
  EXPECT_THROW(JobQueue{options_}, Error);
}

TEST_F(JobQueueTest, TheHistoryIsTrimmed) {
  JobDatabase database(options_.database);
  database.begin();
  for (int i = 1; i <= 6; ++i) {
    Job one = job(std::to_string(i));
    one.sequence = i;
    database.insert(one);
    database.set_running(i, 1);
    JobResult result;
    result.state = JobState::succeeded;
    database.finish(i, result);
  }
  database.trim(2);
  database.commit();
  std::vector<std::string> left;
  database.history({}, [&](const JobRow& row) { left.push_back(row.id); });
  EXPECT_EQ(left, (std::vector<std::string>{"5", "6"}));
  EXPECT_EQ(database.check(), "");
}

TEST_F(JobQueueTest, AFaultIsKeptUntilItsWaiterHasReadItHoweverManyGoodCommitsFollow) {
  Journal journal(options_.database);
  const auto bad = journal.post_awaited([](JobDatabase&) { throw Error(ErrorCode::internal, "full"); });
  journal.flush();
  EXPECT_EQ(journal.fault(), "full");
  for (int i = 0; i < 300; ++i) {
    journal.post([](JobDatabase& db) { db.probe(); });
    journal.flush();
  }
  EXPECT_EQ(journal.fault(), "");
  EXPECT_THROW(journal.wait(bad), Error);
}

TEST_F(JobQueueTest, AJobThatIsNotWrittenIsNotInTheQueueAndGivesItsRoomBack) {
  options_.max_waiting = 1;
  options_.max_waiting_per_owner = 1;
  JobQueue queue(options_);
  {
    // Refuses one row, as a full disk would.
    Sqlite other(options_.database);
    other.run("CREATE TRIGGER refuse BEFORE INSERT ON jobs WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ABORT, 'full'); END");
  }
  for (int i = 0; i < 3; ++i) {
    Job bad = job("bad");
    bad.owner = "me";
    bad.idempotency_key = "k";
    try {
      queue.submit(bad);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::internal);
    }
  }
  EXPECT_EQ(queue.remaining(), 0U);
  EXPECT_EQ(queue.fault(), "") << "the next write went well";
  Job good = job("good");
  good.owner = "me";
  good.idempotency_key = "k";
  EXPECT_NO_THROW(queue.submit(good));
}

// No file of the process can grow, as on a full disk.
class FullDisk {
 public:
  FullDisk() : before_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &limit_);
    rlimit none = limit_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_FSIZE, &none);
  }
  ~FullDisk() { end(); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;
  void end() {
    ::setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  void (*before_)(int);
  rlimit limit_{};
};

TEST_F(JobQueueTest, WhatTheDiskDoesNotTakeIsTrueInMemoryAndWrittenWhenThereIsSpaceAgain) {
  const auto states = [](JobQueue& queue) {
    int64_t total = 0;
    std::vector<std::string> out;
    for (const JobRow& row : queue.list({.states = {}, .ascending = true}, total)) {
      out.push_back(row.id + " " + std::string(to_string(row.state)) + (row.unwritten ? " unwritten" : ""));
    }
    EXPECT_EQ(static_cast<size_t>(total), out.size());
    return out;
  };
  using Texts = std::vector<std::string>;
  {
    JobQueue queue(options_);
    queue.submit(job("early"));
    succeed(queue, start(queue));
    for (const char* id : {"a", "b", "c", "early"}) queue.submit(job(id));
    const JobPtr a = start(queue);
    FullDisk full;
    succeed(queue, a);
    const JobPtr b = start(queue);
    queue.withdraw({"c"});
    EXPECT_EQ(states(queue), (Texts{"early succeeded", "a succeeded unwritten", "b running unwritten", "c cancelled unwritten", "early queued"}));
    EXPECT_EQ(history(queue), (Texts{"early", "a"}));
    EXPECT_EQ(history(queue, {.max = 1, .offset = {}}), Texts{"a"});
    EXPECT_TRUE(queue.history_entry("a")->unwritten);
    EXPECT_NE(queue.history_entry("a")->history_text().find("\"unwritten\": true"), std::string::npos);
    EXPECT_EQ(queue.find("a")->state, JobState::succeeded);
    EXPECT_EQ(queue.cancel("a"), JobQueue::CancelAnswer::finished);
    int64_t total = 0;
    EXPECT_EQ(queue.list({.states = {JobState::running}}, total).at(0).id, "b");
    EXPECT_EQ(total, 1);
    succeed(queue, b);
    succeed(queue, start(queue));
    EXPECT_EQ(history(queue), (Texts{"early", "a", "b"})) << "one entry of an id, in its first place";
    EXPECT_THROW(queue.forget_all(), Error) << "it cannot be done, and says so";
    EXPECT_EQ(history(queue).size(), 3U);
    EXPECT_NE(queue.fault(), "");
    full.end();
    EXPECT_EQ(queue.fault(), "") << "asking tries again";
    EXPECT_FALSE(queue.history_entry("a")->unwritten);
    EXPECT_EQ(history(queue), (Texts{"early", "a", "b"}));
  }
  JobQueue queue(options_);
  EXPECT_EQ(history(queue), (Texts{"early", "a", "b"}));
  EXPECT_EQ(states(queue), (Texts{"a succeeded", "b succeeded", "c cancelled", "early succeeded"}));
  queue.forget_all();
  EXPECT_TRUE(history(queue).empty());
}

TEST_F(JobQueueTest, OfManyWhoSubmitWithOneKeyAtOnceOneWins) {
  JobQueue queue(options_);
  std::atomic<int> won = 0, lost = 0, other = 0;
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        Job keyed = job(std::to_string(i));
        keyed.idempotency_key = "k" + std::to_string(round);
        try {
          queue.submit(keyed);
          ++won;
        } catch (const Error& error) {
          const bool found = error.code() == ErrorCode::invalid && queue.find_idempotent("", keyed.idempotency_key);
          ++(found ? lost : other);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(won, 20);
  EXPECT_EQ(lost, 140);
  EXPECT_EQ(other, 0);
  EXPECT_EQ(queue.remaining(), 20U);
}

TEST_F(JobQueueTest, ABadChangeDoesNotTakeTheOthersOfItsCommitWithIt) {
  Journal journal(options_.database);
  const auto good = journal.post([](JobDatabase& db) {
    Job one = job("a");
    one.sequence = 1;
    db.insert(one);
  });
  const auto bad = journal.post_awaited([](JobDatabase&) { throw Error(ErrorCode::internal, "no"); });
  EXPECT_NO_THROW(journal.wait(good));
  EXPECT_THROW(journal.wait(bad), Error);
  EXPECT_EQ(JobDatabase(options_.database).find("a")->id, "a");
}

TEST_F(JobQueueTest, AChangeThatTheDiskDoesNotTakeIsKeptAndTriedAgain) {
  std::atomic<bool> full = true;
  {
    Journal journal(options_.database);
    journal.post([&full](JobDatabase& db) {
      if (full) throw Error(ErrorCode::invalid, "cannot be written", {{"storage", "database or disk is full"}});
      Job one = job("a");
      one.sequence = 1;
      db.insert(one);
    });
    for (int i = 0; i < 20; ++i) {
      journal.post([](JobDatabase& db) { db.probe(); });
      journal.flush();
    }
    EXPECT_EQ(journal.kept(), 1U);
    EXPECT_NE(journal.fault(), "");
    EXPECT_FALSE(JobDatabase(options_.database).find("a"));
    full = false;
    // The last try is when the journal ends.
  }
  EXPECT_TRUE(JobDatabase(options_.database).find("a"));
}

TEST_F(JobQueueTest, NothingThatSomebodyWaitsForGoesAheadOfWhatTheDiskRefused) {
  Journal journal(options_.database);
  Job one = job("a");
  one.sequence = 1;
  journal.post([&](JobDatabase& db) { db.insert(one); });
  journal.flush();
  // In one pass: a change that the disk refuses, then one that is awaited.
  std::atomic<bool> full = true, posted = false;
  journal.post([&](JobDatabase&) {
    while (!posted) std::this_thread::yield();
  });
  journal.post([&](JobDatabase&) {
    if (full) throw Error(ErrorCode::invalid, "cannot be written", {{"storage", "database or disk is full"}});
  });
  const Journal::Ticket forget = journal.post_awaited([](JobDatabase& db) { db.forget_all(); });
  posted = true;
  EXPECT_THROW(journal.wait(forget), Error);
  EXPECT_EQ(journal.kept(), 1U);
  full = false;
  journal.post([](JobDatabase& db) { db.probe(); });
  journal.flush();
  EXPECT_EQ(journal.kept(), 0U);
  EXPECT_NO_THROW(journal.wait(journal.post_awaited([](JobDatabase& db) { db.forget_all(); })));
}

TEST_F(JobQueueTest, AChangeThatNothingCanMakeIsGivenUp) {
  std::atomic<int> tries = 0;
  Journal journal(options_.database);
  journal.post([&tries](JobDatabase&) {
    ++tries;
    throw Error(ErrorCode::invalid, "no such row");
  });
  for (int i = 0; i < 20; ++i) {
    journal.post([](JobDatabase& db) { db.probe(); });
    journal.flush();
  }
  EXPECT_EQ(journal.kept(), 0U);
  EXPECT_EQ(journal.fault(), "");
  EXPECT_GE(tries, 5);
}

}  // namespace
}  // namespace veneer::jobs
