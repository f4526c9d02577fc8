#include "models/clip/prompt_chunks.h"

#include <gtest/gtest.h>

#include <string>

#include "veneer/error.h"

namespace veneer::models {
namespace {

constexpr int32_t kStart = 49406;
constexpr int32_t kEnd = 49407;

std::vector<PromptToken> group(size_t size, int32_t id) { return std::vector<PromptToken>(size, PromptToken{.id = id, .weight = 1.5}); }

size_t count(const std::vector<PromptToken>& chunk, int32_t id) {
  size_t out = 0;
  for (const PromptToken& place : chunk) out += place.id == id ? 1 : 0;
  return out;
}

TEST(PromptChunks, PadsTheEmptyPrompt) {
  const std::vector<PromptToken> chunk = empty_chunk(sd1_clip_l());
  ASSERT_EQ(chunk.size(), 77U);
  EXPECT_EQ(chunk[0], PromptToken{.id = kStart});
  for (size_t i = 1; i < 77; ++i) EXPECT_EQ(chunk[i], PromptToken{.id = kEnd});
}

TEST(PromptChunks, PadsWithTheKindsOwnToken) {
  ClipKind kind = sd1_clip_l();
  kind.pad_token = 0;
  const std::vector<PromptToken> chunk = empty_chunk(kind);
  EXPECT_EQ(chunk[1].id, kEnd);
  EXPECT_EQ(count(chunk, 0), 75U);
}

TEST(PromptChunks, FillsAChunkToTheBrim) {
  const auto chunks = fill_chunks({group(75, 5)}, sd1_clip_l());
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(count(chunks[0], 5), 75U);
  EXPECT_EQ(chunks[0][76].id, kEnd);
}

TEST(PromptChunks, SplitsALongGroupAtTheBorder) {
  const auto chunks = fill_chunks({group(72, 5), group(8, 6)}, sd1_clip_l());
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(count(chunks[0], 6), 3U);
  EXPECT_EQ(count(chunks[1], 6), 5U);
  EXPECT_EQ(chunks[1][0].id, kStart);
  EXPECT_EQ(chunks[1][1], (PromptToken{.id = 6, .word_id = 2, .weight = 1.5}));
}

TEST(PromptChunks, MovesAShortGroupWhole) {
  const auto chunks = fill_chunks({group(72, 5), group(7, 6)}, sd1_clip_l());
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(count(chunks[0], 6), 0U);
  EXPECT_EQ(count(chunks[0], kEnd), 4U);
  EXPECT_EQ(chunks[0][73], PromptToken{.id = kEnd});
  EXPECT_EQ(count(chunks[1], 6), 7U);
}

TEST(PromptChunks, StartsALongGroupInANewChunkWhenTheFirstIsFull) {
  const auto chunks = fill_chunks({group(75, 5), group(80, 6)}, sd1_clip_l());
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(count(chunks[1], 6), 75U);
  EXPECT_EQ(count(chunks[2], 6), 5U);
}

TEST(PromptChunks, CountsEmptyGroupsAsWords) {
  const auto chunks = fill_chunks({{}, group(1, 5), {}, group(1, 6)}, sd1_clip_l());
  EXPECT_EQ(chunks[0][1].word_id, 2);
  EXPECT_EQ(chunks[0][2].word_id, 4);
}

TEST(PromptChunks, RefusesChunksThatCannotHoldAWord) {
  ClipKind kind = sd1_clip_l();
  kind.chunk_length = 8;
  EXPECT_THROW(check_chunk_rules(kind), Error);
  EXPECT_THROW(fill_chunks({group(7, 5)}, kind), Error);
  kind.chunk_length = 9;
  EXPECT_EQ(fill_chunks({group(7, 5)}, kind).size(), 1U);
  kind.max_word_length = 0;
  kind.chunk_length = 2;
  EXPECT_THROW(check_chunk_rules(kind), Error);
}

}  // namespace
}  // namespace veneer::models
