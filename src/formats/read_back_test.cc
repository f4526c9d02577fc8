#include "formats/read_back.h"

#include <gtest/gtest.h>

#include "base/streaming_digest.h"
#include "formats/sha256.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::formats {
namespace {

StreamingDigest digest_of(std::string_view text) {
  StreamingDigest out;
  out.add(std::as_bytes(std::span(text)));
  return out;
}

TEST(ReadBack, DigestIsOfTheBytesBehindTheBeginningHoweverTheyCame) {
  const TempDirectory folder;
  std::string content(20'000'000, 'x');  // more than two chunks
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 2654435761U >> 13);
  const auto path = folder.write("file", content);
  ReadBack read_back(path, 100);
  for (size_t end = 100; end < content.size(); end += 3'000'001) read_back.written_to(end);
  read_back.written_to(content.size());
  const auto [got, sha256] = read_back.finish();
  StreamingDigest pieces = digest_of(std::string_view(content).substr(100, 7));
  pieces.add(std::as_bytes(std::span(content).subspan(107)));
  EXPECT_EQ(got, pieces.finish());
  EXPECT_EQ(sha256, sha256_hex(std::as_bytes(std::span(content).subspan(100))));
  content[content.size() / 2] = static_cast<char>(content[content.size() / 2] ^ 1);
  EXPECT_NE(got, digest_of(std::string_view(content).substr(100)).finish());
}

TEST(ReadBack, NothingWrittenIsAnEmptyDigest) {
  const TempDirectory folder;
  ReadBack read_back(folder.write("file", "head"), 4);
  EXPECT_EQ(read_back.finish().fingerprint, StreamingDigest().finish());
}

TEST(ReadBack, AFileThatEndsEarlyIsAnErrorThatNamesIt) {
  const TempDirectory folder;
  const auto path = folder.write("file", "short");
  ReadBack read_back(path, 0);
  read_back.written_to(1'000);
  try {
    (void)read_back.finish();
    FAIL() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("file"), path.string());
  }
}

}  // namespace
}  // namespace veneer::formats
