#include "engine/output_folder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

namespace fs = std::filesystem;

TEST(OutputFolder, MayBeThereOrStillToBeMade) {
  const formats::TempDirectory directory;
  EXPECT_NO_THROW(require_writable(directory.path()));
  EXPECT_NO_THROW(require_writable(directory.path() / "a/b/c"));
  EXPECT_NO_THROW(require_writable("a/relative/folder"));
  EXPECT_TRUE(fs::is_empty(directory.path()));
}

TEST(OutputFolder, IsRefusedWhenAFileIsInItsPlaceOrAbove) {
  const formats::TempDirectory directory;
  directory.write("file", "x");
  for (const char* name : {"file", "file/below", "file/far/below"}) EXPECT_THROW(require_writable(directory.path() / name), Error) << name;
}

TEST(OutputFolder, IsRefusedWhenItCannotBeWritten) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const formats::TempDirectory directory;
  fs::create_directory(directory.path() / "closed");
  fs::permissions(directory.path() / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THROW(require_writable(directory.path() / "closed"), Error);
  EXPECT_THROW(require_writable(directory.path() / "closed/below"), Error);
}

}  // namespace
}  // namespace veneer::engine
