#include "models/clip/bpe_vocabulary.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <set>
#include <string>
#include <vector>

#include "models/clip/vocabulary_data.h"
#include "veneer/error.h"

namespace veneer::models {
namespace {

std::vector<std::byte> gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::vector<std::byte> out(text.size() + 1024);
  std::string input = text;
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

void expect_corrupt(std::span<const std::byte> bytes, const std::string& text) {
  try {
    BpeVocabulary::parse(bytes);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_EQ(error.text(), text);
  }
}

TEST(BpeVocabulary, PutsPrintableBytesFirst) {
  const auto vocabulary = BpeVocabulary::clip();
  EXPECT_EQ(vocabulary->byte_token('!', false), 0);
  EXPECT_EQ(vocabulary->byte_token('a', false), 64);
  EXPECT_EQ(vocabulary->byte_token('a', true), 320);
  EXPECT_EQ(vocabulary->byte_token(0xFF, false), 187);
  EXPECT_EQ(vocabulary->byte_token(0, false), 188);
  EXPECT_EQ(vocabulary->byte_token(0xAD, true), 511);
}

TEST(BpeVocabulary, GivesEveryByteATokenOfItsOwn) {
  const auto vocabulary = BpeVocabulary::clip();
  std::set<int32_t> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.insert(vocabulary->byte_token(static_cast<uint8_t>(byte), false));
    tokens.insert(vocabulary->byte_token(static_cast<uint8_t>(byte), true));
  }
  EXPECT_EQ(tokens.size(), 512U);
  EXPECT_EQ(*tokens.begin(), 0);
  EXPECT_EQ(*tokens.rbegin(), 511);
}

TEST(BpeVocabulary, KnowsTheFirstAndTheLastMerge) {
  const auto vocabulary = BpeVocabulary::clip();
  const int32_t i = vocabulary->byte_token('i', false);
  EXPECT_EQ(vocabulary->merged(i, vocabulary->byte_token('n', false)), BpeVocabulary::kFirstMerge);
  EXPECT_EQ(vocabulary->merged(i, vocabulary->byte_token('n', true)), 530);  // "in" as a word
  EXPECT_EQ(vocabulary->merged(BpeVocabulary::kStartToken, 0), -1);
}

TEST(BpeVocabulary, RefusesDamagedData) {
  const std::span<const std::byte> whole = clip_vocabulary_gzip();
  expect_corrupt({}, "vocabulary: gzip data ends early");
  expect_corrupt(whole.first(1000), "vocabulary: gzip data ends early");
  expect_corrupt(gzip("no vocabulary"), "vocabulary: too few merges");
  const std::string noise = "this is not gzip at all, whatever it may say";
  expect_corrupt(std::as_bytes(std::span(noise.data(), noise.size())), "vocabulary: damaged gzip data");
}

TEST(BpeVocabulary, RefusesLinesThatAreNoMerges) {
  const auto with = [](const std::string& line) {
    std::string text = "#version\n";
    for (int i = 0; i <= BpeVocabulary::kNumMerges; ++i) text += line + "\n";
    return gzip(text);
  };
  expect_corrupt(with(""), "vocabulary: not a merge of known symbols");
  expect_corrupt(with("a"), "vocabulary: not a merge of known symbols");
  expect_corrupt(with("a unknown"), "vocabulary: not a merge of known symbols");
  expect_corrupt(with("a b"), "vocabulary: a token is defined twice");
}

}  // namespace
}  // namespace veneer::models
