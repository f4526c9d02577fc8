#include "nodes/output_counters.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/testing/temp_directory.h"
#include "nodes/output_place.h"

namespace veneer::nodes {
namespace {

namespace fs = std::filesystem;

class OutputCountersTest : public ::testing::Test {
 protected:
  void touch(const std::string& name) const { std::ofstream(folder_ / name) << "x"; }
  // What the counters say, which has to be what the folder says.
  int64_t next(const std::string& stem) {
    const int64_t counter = counters_.next(folder_, stem);
    EXPECT_EQ(counter, next_counter(folder_, stem));
    return counter;
  }

  formats::TempDirectory directory_;
  fs::path folder_ = directory_.path();
  OutputCounters counters_;
};

TEST_F(OutputCountersTest, ReadTheFolderOnceForManyFiles) {
  touch("a_00041_.png");
  for (int64_t i = 42; i < 142; ++i) {
    ASSERT_EQ(next("a"), i);
    touch(numbered_name("a", i, ".png"));
  }
  EXPECT_EQ(next("b"), 1);
  EXPECT_EQ(counters_.folders_read(), 1U);
}

TEST_F(OutputCountersTest, SeeFilesOfOthers) {
  EXPECT_EQ(next("a"), 1);
  touch("A_00007_x.txt");
  EXPECT_EQ(next("a"), 8);
  touch("a_12_b_00003_.png");
  EXPECT_EQ(next("a"), 13);
  EXPECT_EQ(next("a_12_b"), 4);
  touch("elsewhere");
  fs::rename(folder_ / "elsewhere", folder_ / "a_00100_.png");
  EXPECT_EQ(next("a"), 101);
  touch("a_00200.png");
  touch("a__00300_.png");
  EXPECT_EQ(next("a"), 101);
}

TEST_F(OutputCountersTest, GoBackWhenTheHighestIsGone) {
  for (const char* name : {"a_00001_.png", "a_00005_.png", "a_00009_.png"}) touch(name);
  EXPECT_EQ(next("a"), 10);
  fs::remove(folder_ / "a_00005_.png");
  EXPECT_EQ(next("a"), 10);
  EXPECT_EQ(counters_.folders_read(), 1U);
  fs::remove(folder_ / "a_00009_.png");
  EXPECT_EQ(next("a"), 2);
  fs::rename(folder_ / "a_00001_.png", folder_ / "kept");
  EXPECT_EQ(next("a"), 1);
}

TEST_F(OutputCountersTest, KnowAFolderThatWasPutInPlaceOfAnother) {
  folder_ = directory_.path() / "out";
  fs::create_directory(folder_);
  touch("a_00005_.png");
  EXPECT_EQ(next("a"), 6);
  fs::rename(folder_, directory_.path() / "old");
  fs::create_directory(folder_);
  EXPECT_EQ(next("a"), 1);
  touch("a_00002_.png");
  EXPECT_EQ(next("a"), 3);
}

TEST_F(OutputCountersTest, SurviveMoreEventsThanTheSystemKeeps) {
  EXPECT_EQ(next("a"), 1);
  for (int i = 0; i < 9000; ++i) {
    touch("other");
    fs::remove(folder_ / "other");
  }
  touch("a_00003_.png");
  EXPECT_EQ(next("a"), 4);
}

TEST_F(OutputCountersTest, WatchManyFoldersAndAMissingOne) {
  for (int i = 0; i < 100; ++i) {
    const fs::path one = directory_.path() / std::to_string(i);
    fs::create_directory(one);
    std::ofstream(one / "a_00001_.png") << "x";
    EXPECT_EQ(counters_.next(one, "a"), 2);
  }
  EXPECT_EQ(counters_.next(directory_.path() / "missing", "a"), 1);
}

}  // namespace
}  // namespace veneer::nodes
