#include "formats/sha256.h"

#include <gtest/gtest.h>

#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

// From FIPS 180-4's examples.
constexpr char kOfNothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kOfAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kOfAMillionAs[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(sha256_hex({}), kOfNothing);
  EXPECT_EQ(sha256_hex(std::as_bytes(std::span("abc", 3))), kOfAbc);
}

TEST(Sha256, DoesNotDependOnThePieces) {
  Sha256 hash;
  for (const char c : std::string("abc")) hash.add(std::as_bytes(std::span(&c, 1)));
  EXPECT_EQ(hash.finish_hex(), kOfAbc);
}

TEST(Sha256, HashesFilesOfAnyLength) {
  const TempDirectory dir;
  EXPECT_EQ(sha256_hex_of_file(dir.write("empty", "")), kOfNothing);
  EXPECT_EQ(sha256_hex_of_file(dir.write("million", std::string(1'000'000, 'a'))), kOfAMillionAs);
}

TEST(Sha256, ReportsProgressUpToTheWhole) {
  const TempDirectory dir;
  const std::string content((2 << 20) + 5, 'x');
  uint64_t calls = 0, last = 0, total = 0;
  const std::string hex = sha256_hex_of_file(dir.write("f", content), [&](uint64_t done, uint64_t all) {
    EXPECT_GT(done, last);
    ++calls, last = done, total = all;
  });
  EXPECT_GE(calls, 3u);
  EXPECT_EQ(last, content.size());
  EXPECT_EQ(total, content.size());
  EXPECT_EQ(hex, sha256_hex(std::as_bytes(std::span(content))));
}

TEST(Sha256, NamesAMissingFile) {
  try {
    (void)sha256_hex_of_file("/nonexistent/f");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_EQ(error.find("file"), "/nonexistent/f");
  }
}

}  // namespace
}  // namespace veneer::formats
