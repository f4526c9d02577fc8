#include "server/data_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "veneer/error.h"

namespace veneer::server {
namespace {

namespace fs = std::filesystem;

class DataLockTest : public ::testing::Test {
 protected:
  DataLockTest() {
    std::string name = (fs::temp_directory_path() / "veneer_lock_XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~DataLockTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(DataLockTest, ASecondHolderIsToldTheFolderAndWhoHasIt) {
  const DataLock first(folder_ / "new", "port 8188");
  if (!first.held()) GTEST_SKIP() << "the file system of the temporary folder has no locks";
  try {
    const DataLock second(folder_ / "new", "port 8189");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.find("folder"), (folder_ / "new").string());
    EXPECT_NE(error.find("held_by").find("port 8188"), std::string_view::npos);
    EXPECT_NE(error.find("held_by").find(std::to_string(::getpid())), std::string_view::npos);
  }
}

TEST_F(DataLockTest, AnotherMayHoldItAfterTheFirst) {
  std::optional<DataLock> lock(std::in_place, folder_, "one");
  lock.reset();
  EXPECT_NO_THROW(DataLock(folder_, "two"));
}

TEST_F(DataLockTest, AFolderThatCannotBeMadeIsAnError) {
  const DataLock lock(folder_, "one");
  EXPECT_THROW(DataLock(folder_ / "server.lock" / "below", "two"), Error);
}

}  // namespace
}  // namespace veneer::server
