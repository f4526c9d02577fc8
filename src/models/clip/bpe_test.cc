#include "models/clip/bpe.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace veneer::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const BpeTokenizer& tokenizer() {
  static const BpeTokenizer kTokenizer(BpeVocabulary::clip());
  return kTokenizer;
}

// The textbook's way: find the pair of smallest rank, merge all of its occurrences from the left, begin again.
std::vector<int32_t> merge_slowly(const std::string& word) {
  const BpeVocabulary& vocabulary = tokenizer().vocabulary();
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < word.size(); ++i) tokens.push_back(vocabulary.byte_token(static_cast<uint8_t>(word[i]), i + 1 == word.size()));
  while (true) {
    int32_t best = -1;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const int32_t token = vocabulary.merged(tokens[i], tokens[i + 1]);
      if (token >= 0 && (best < 0 || token < best)) best = token;
    }
    if (best < 0) return tokens;
    std::vector<int32_t> next;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (i + 1 < tokens.size() && vocabulary.merged(tokens[i], tokens[i + 1]) == best) {
        next.push_back(best);
        ++i;
      } else {
        next.push_back(tokens[i]);
      }
    }
    tokens = next;
  }
}

TEST(Bpe, TokenisesPlainWords) { EXPECT_THAT(tokenizer().encode("a photo of a cat"), ElementsAre(320, 1125, 539, 320, 2368)); }

TEST(Bpe, IgnoresCaseAndWhiteSpace) { EXPECT_EQ(tokenizer().encode("  A  PHOTO\tof a\nCat "), tokenizer().encode("a photo of a cat")); }

TEST(Bpe, GivesNothingForNothing) {
  EXPECT_THAT(tokenizer().encode(""), IsEmpty());
  EXPECT_THAT(tokenizer().encode(" \n"), IsEmpty());
}

TEST(Bpe, TokenisesOtherScripts) {
  EXPECT_THAT(tokenizer().encode("日本語 テスト"), ElementsAre(37156, 19277, 361, 34002, 508, 2429, 228, 32421, 486));
  EXPECT_THAT(tokenizer().encode("İstanbul"), ElementsAre(328, 16384, 11231));
  EXPECT_THAT(tokenizer().encode("emoji 😀👍🏽"), ElementsAre(16327, 12832, 43722));
}

TEST(Bpe, TokenisesAnyByteAsNothingWorseThanItself) { EXPECT_THAT(tokenizer().encode("a\xFF\xFE"), ElementsAre(320)); }

TEST(Bpe, KnowsSpecialTokensInRawText) {
  EXPECT_THAT(tokenizer().encode("hello<|endoftext|>world"), ElementsAre(3306, 49407, 1002));
  EXPECT_THAT(tokenizer().encode("!!<|startoftext|>"), ElementsAre(748, 49406));
}

TEST(Bpe, KnowsSpecialTokensInCapitalsOnlyAsWordsOfTheirOwn) {
  EXPECT_THAT(tokenizer().encode("x<|ENDOFTEXT|>y"), ElementsAre(343, 49407, 344));
  EXPECT_THAT(tokenizer().encode("!!<|ENDOFTEXT|>y"), ElementsAre(1443, 27, 347, 40786, 4160, 91, 285, 344));
}

TEST(Bpe, MergesAsTheTextbookDoes) {
  std::mt19937 random(7);  // NOLINT: the same words on every run
  for (int round = 0; round < 2000; ++round) {
    std::string word(1 + random() % 60, 'a');
    const auto letters = 1 + random() % 26;
    for (char& c : word) c = static_cast<char>('a' + random() % letters);
    ASSERT_EQ(tokenizer().encode(word), merge_slowly(word)) << word;
  }
}

TEST(Bpe, MergesRunsFromTheLeft) {
  for (size_t length = 1; length < 150; ++length) ASSERT_EQ(tokenizer().encode(std::string(length, 'a')), merge_slowly(std::string(length, 'a')));
}

TEST(Bpe, TakesAMegabyteInOneWord) {
  // A pass over the word for every merge would take 10^11 steps.
  const std::vector<int32_t> tokens = tokenizer().encode(std::string(1 << 20, 'a'));
  EXPECT_EQ(tokens.front(), 23126);              // eight letters each
  EXPECT_EQ(tokens.size(), (1U << 20) / 8 + 1);  // the last eight take two, as one of them ends the word
}

TEST(Bpe, TakesAMegabyteOfMixedLetters) {
  std::string text;
  for (uint32_t i = 0; text.size() < (1U << 20); ++i) text += static_cast<char>('a' + (i * 2654435761U >> 20) % 26);
  EXPECT_GT(tokenizer().encode(text).size(), 100000U);
}

}  // namespace
}  // namespace veneer::models
