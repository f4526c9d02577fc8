#include "engine/compare_with_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "compute/test_data.h"
#include "formats/sha256.h"
#include "formats/testing/temp_directory.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using Weights = std::map<std::string, Tensor, std::less<>>;

// Two weights, and a file that holds their bytes behind a head of 5 bytes.
class CompareWithFile : public ::testing::Test {
 protected:
  CompareWithFile() {
    memory_["a"] = compute::random_tensor({3, 2}, 1);
    memory_["b"] = compute::random_tensor({700, 512}, 2);  // more than one piece
    std::string bytes = "head.";
    for (const auto& [key, tensor] : memory_) {
      file_.places[key] = {"file." + key, bytes.size(), tensor.size_bytes()};
      bytes += text_of(tensor);
    }
    path_ = folder_.write("model", bytes);
  }

  static std::string text_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.bytes()), tensor.size_bytes()}; }
  static std::string digest(const Tensor& tensor) { return formats::sha256_hex(tensor.byte_span()); }
  VerifiedPart compare() const { return compare_with_file(memory_, file_, path_); }

  formats::TempDirectory folder_;
  Weights memory_;
  FilePlaces file_;
  std::filesystem::path path_;
};

TEST_F(CompareWithFile, FindsEqualBytesEqual) {
  const VerifiedPart part = compare();
  EXPECT_TRUE(part.ok());
  EXPECT_EQ(part.num_tensors, 2U);
  EXPECT_EQ(part.size_bytes, memory_["a"].size_bytes() + memory_["b"].size_bytes());
  EXPECT_EQ(part.file_sha256, part.memory_sha256);
  EXPECT_THAT(part.not_compared, IsEmpty());
}

TEST_F(CompareWithFile, DigestIsThatOfTheLinesThatSha256sumWouldPrint) {
  const std::string lines = digest(memory_["a"]) + "  a\n" + digest(memory_["b"]) + "  b\n";
  EXPECT_EQ(compare().file_sha256, formats::sha256_hex(std::as_bytes(std::span(lines))));
}

TEST_F(CompareWithFile, ListsATensorOfWhichOneBitDiffers) {
  const std::string before = digest(memory_["b"]);
  memory_["b"].mutable_bytes()[memory_["b"].size_bytes() - 1] ^= std::byte{1};
  const VerifiedPart part = compare();
  EXPECT_FALSE(part.ok());
  ASSERT_THAT(part.different, SizeIs(1));
  EXPECT_EQ(part.different[0].key, "b");
  EXPECT_EQ(part.different[0].name, "file.b");
  EXPECT_EQ(part.different[0].file_sha256, before);
  EXPECT_EQ(part.different[0].memory_sha256, digest(memory_["b"]));
  EXPECT_NE(part.file_sha256, part.memory_sha256);
}

TEST_F(CompareWithFile, ListsATensorOfAnotherSize) {
  memory_["a"] = memory_["a"].slice(0, 2).clone();
  const VerifiedPart part = compare();
  ASSERT_THAT(part.different, SizeIs(1));
  EXPECT_EQ(part.different[0].key, "a");
  EXPECT_EQ(part.different[0].memory_sha256, digest(memory_["a"]));
}

TEST_F(CompareWithFile, ListsWhatOnlyOneSideHas) {
  file_.places["c"] = file_.places["a"];
  file_.places.erase("a");
  const VerifiedPart part = compare();
  ASSERT_THAT(part.different, SizeIs(2));
  EXPECT_EQ(part.different[0].key, "a");
  EXPECT_EQ(part.different[0].name, "");
  EXPECT_EQ(part.different[0].memory_sha256, digest(memory_["a"]));
  EXPECT_EQ(part.different[1].key, "c");
  EXPECT_EQ(part.different[1].memory_sha256, "");
}

TEST_F(CompareWithFile, DoesNotTouchMemoryBehindTheEndOfTheFile) {
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  const VerifiedPart part = compare();
  ASSERT_THAT(part.different, SizeIs(1));
  EXPECT_EQ(part.different[0].key, "b");
  EXPECT_EQ(part.different[0].file_sha256, "");
  EXPECT_EQ(part.different[0].memory_sha256, "");
}

TEST_F(CompareWithFile, TellsWhatCannotBeCompared) {
  file_.places.erase("a");
  file_.loader_made.emplace_back("a");
  const VerifiedPart part = compare();
  EXPECT_TRUE(part.ok());
  EXPECT_EQ(part.num_tensors, 1U);
  ASSERT_THAT(part.not_compared, SizeIs(1));
  EXPECT_EQ(part.not_compared[0].key, "a");
  EXPECT_NE(part.not_compared[0].reason, "");
}

TEST_F(CompareWithFile, NamesAFileThatCannotBeRead) {
  try {
    (void)compare_with_file(memory_, file_, folder_.path() / "nowhere");
    FAIL() << "read a file that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_THAT(std::string(error.find("file")), ::testing::HasSubstr("nowhere"));
  }
}

}  // namespace
}  // namespace veneer::engine
