#include "formats/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

size_t files_in(const TempDirectory& dir) { return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(dir.path()), {})); }

TEST(AtomicFile, AppearsOnCommit) {
  const TempDirectory dir;
  AtomicFile file = AtomicFile::create(dir.path() / "f");
  file.write("ab");
  file.write("c");
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "f"));
  file.commit();
  EXPECT_EQ(read_whole(dir.path() / "f"), "abc");
  EXPECT_EQ(files_in(dir), 1u);
}

TEST(AtomicFile, LeavesNothingWithoutACommit) {
  const TempDirectory dir;
  dir.write("f", "old");
  {
    AtomicFile file = AtomicFile::create(dir.path() / "f");
    file.write("new");
    const AtomicFile moved = std::move(file);
    EXPECT_EQ(files_in(dir), 2u);
  }
  EXPECT_EQ(read_whole(dir.path() / "f"), "old");
  EXPECT_EQ(files_in(dir), 1u);
}

TEST(AtomicFile, ReplacesALinkAndNotWhatItPointsTo) {
  const TempDirectory dir;
  const std::filesystem::path target = dir.write("target", "old");
  std::filesystem::create_symlink(target, dir.path() / "f");
  AtomicFile file = AtomicFile::create(dir.path() / "f");
  file.write("new");
  file.commit();
  EXPECT_EQ(read_whole(dir.path() / "f"), "new");
  EXPECT_EQ(read_whole(target), "old");
}

TEST(AtomicFile, TwoWritersOfOneNameDoNotMeet) {
  const TempDirectory dir;
  AtomicFile a = AtomicFile::create(dir.path() / "f");
  AtomicFile b = AtomicFile::create(dir.path() / "f");
  a.write("aa");
  b.write("b");
  a.commit();
  EXPECT_EQ(read_whole(dir.path() / "f"), "aa");
  b.commit();
  EXPECT_EQ(read_whole(dir.path() / "f"), "b");
}

TEST(AtomicFile, TakesOnlyAFreeNameWhenAskedTo) {
  const TempDirectory dir;
  dir.write("f1", "old");
  std::filesystem::create_symlink(dir.path() / "nowhere", dir.path() / "f2");
  AtomicFile file = AtomicFile::create(dir.path() / "f1");
  file.write("new");
  EXPECT_FALSE(file.commit_new(dir.path() / "f1"));
  EXPECT_FALSE(file.commit_new(dir.path() / "f2"));
  EXPECT_TRUE(file.commit_new(dir.path() / "f3"));
  EXPECT_EQ(read_whole(dir.path() / "f1"), "old");
  EXPECT_EQ(read_whole(dir.path() / "f3"), "new");
  EXPECT_EQ(files_in(dir), 3u);
}

TEST(AtomicFile, LeavesNothingWhenNoNameWasFree) {
  const TempDirectory dir;
  dir.write("f", "old");
  {
    AtomicFile file = AtomicFile::create(dir.path() / "f");
    file.write("new");
    EXPECT_FALSE(file.commit_new(dir.path() / "f"));
  }
  EXPECT_EQ(read_whole(dir.path() / "f"), "old");
  EXPECT_EQ(files_in(dir), 1u);
}

TEST(AtomicFile, NamesThePathWhenTheDirectoryIsMissing) {
  const TempDirectory dir;
  const std::filesystem::path path = dir.path() / "none" / "f";
  try {
    (void)AtomicFile::create(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("file"), path.string());
  }
}

TEST(AtomicFile, AFullDiskIsAnErrorThatKeepsTheOldFile) {
  const TempDirectory dir;
  dir.write("f", "old");
  // A limit on file sizes stands for the full disk.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string text;
  try {
    AtomicFile file = AtomicFile::create(dir.path() / "f");
    file.write(std::string(2000, 'x'));
  } catch (const Error& error) {
    text = error.text();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(text, "file cannot be written");
  EXPECT_EQ(read_whole(dir.path() / "f"), "old");
  EXPECT_EQ(files_in(dir), 1u);
}

}  // namespace
}  // namespace veneer::formats
