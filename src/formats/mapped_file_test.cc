#include "formats/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "formats/read_file.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

std::string text_of(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

ErrorCode code_of_opening(const std::filesystem::path& path) {
  try {
    (void)MappedFile::open(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), path.string());
    return error.code();
  }
  return ErrorCode::internal;
}

TEST(MappedFile, ShowsTheContent) {
  const TempDirectory dir;
  EXPECT_EQ(text_of(MappedFile::open(dir.write("f", "abc"))->bytes()), "abc");
}

TEST(MappedFile, IsEmptyForAnEmptyFile) {
  const TempDirectory dir;
  EXPECT_TRUE(MappedFile::open(dir.write("f", ""))->bytes().empty());
}

TEST(MappedFile, KeepsTheContentOfAFileThatIsRemoved) {
  const TempDirectory dir;
  const std::filesystem::path path = dir.write("f", "abc");
  const auto file = MappedFile::open(path);
  std::filesystem::remove(path);
  EXPECT_EQ(text_of(file->bytes()), "abc");
}

TEST(MappedFile, SaysWhyAFileCannotBeOpened) {
  const TempDirectory dir;
  dir.write("file", "");
  EXPECT_EQ(code_of_opening(dir.path() / "none"), ErrorCode::not_found);
  EXPECT_EQ(code_of_opening(dir.path() / "file" / "below"), ErrorCode::not_found);
  EXPECT_EQ(code_of_opening(dir.path()), ErrorCode::invalid);
}

TEST(MappedFile, DoesNotWaitForAPipe) {
  const TempDirectory dir;
  const std::filesystem::path pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(code_of_opening(pipe), ErrorCode::invalid);
}

TEST(ReadFile, ReadsUpToTheBound) {
  const TempDirectory dir;
  const std::filesystem::path path = dir.write("f", "abc");
  EXPECT_EQ(text_of(read_file(path, 3)), "abc");
  EXPECT_THROW((void)read_file(path, 2), Error);
}

}  // namespace
}  // namespace veneer::formats
