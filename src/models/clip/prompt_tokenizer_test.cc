#include "models/clip/prompt_tokenizer.h"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "veneer/error.h"

namespace veneer::models {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const PromptTokenizer& tokenizer() {
  static const PromptTokenizer kTokenizer(sd1_clip_l(), BpeVocabulary::clip());
  return kTokenizer;
}

std::optional<Tensor> two_and_one(std::string_view name) {
  if (name == "two") return Tensor::zeros(Shape({2, 4}), DType::f32);
  if (name == "one" || name == "one.safetensors") return Tensor::zeros(Shape({4}), DType::f16);
  return std::nullopt;
}

// The first chunk up to its end, words by id, vectors as "NAME/ROW".
std::vector<std::string> places(const TokenizedPrompt& prompt) {
  std::vector<std::string> out;
  for (const PromptToken& place : prompt.chunks.front()) {
    if (place.word_id == 0) continue;
    out.push_back(place.embedding < 0 ? std::to_string(place.id)
                                      : prompt.embeddings[static_cast<size_t>(place.embedding)].name + "/" + std::to_string(place.row));
  }
  return out;
}

std::vector<std::string> places(std::string_view text) { return places(tokenizer().tokenize(text, two_and_one)); }

TEST(PromptTokenizer, GivesOneChunkForAnEmptyPrompt) {
  const TokenizedPrompt prompt = tokenizer().tokenize("", two_and_one);
  ASSERT_EQ(prompt.chunks.size(), 1U);
  EXPECT_EQ(prompt.chunks[0].size(), 77U);
  EXPECT_THAT(places(prompt), IsEmpty());
}

TEST(PromptTokenizer, GivesTokensTheirSegmentsWeight) {
  const TokenizedPrompt prompt = tokenizer().tokenize("a (cat:1.2)", two_and_one);
  EXPECT_THAT(places(prompt), ElementsAre("320", "2368"));
  EXPECT_EQ(prompt.chunks[0][1].weight, 1.0);
  EXPECT_EQ(prompt.chunks[0][2].weight, 1.2);
  EXPECT_EQ(prompt.chunks[0][3].weight, 1.0);
}

TEST(PromptTokenizer, FindsEmbeddingsBehindABlankALineEndOrAtTheStart) {
  EXPECT_THAT(places("embedding:two"), ElementsAre("two/0", "two/1"));
  EXPECT_THAT(places("a embedding:two a"), ElementsAre("320", "two/0", "two/1", "320"));
  EXPECT_THAT(places("a\nembedding:one\n"), ElementsAre("320", "one/0"));
  EXPECT_THAT(places("(embedding:one)"), ElementsAre("one/0"));
  EXPECT_THAT(places("embedding:one embedding:two"), ElementsAre("one/0", "two/0", "two/1"));
  EXPECT_THAT(places("embedding: one a"), ElementsAre("one/0", "320"));
}

TEST(PromptTokenizer, LeavesOtherPlacesAsText) {
  EXPECT_THAT(places("a,embedding:one"), ElementsAre("320", "267", "19703", "796", "281", "637"));
  EXPECT_EQ(places("EMBEDDING:one"), places("embedding : one"));
}

TEST(PromptTokenizer, KeepsCommasBehindANameAsText) {
  EXPECT_THAT(places("embedding:one,,, a"), ElementsAre("one/0", "14811", "320"));
  EXPECT_THAT(places("embedding:one.safetensors, a"), ElementsAre("one.safetensors/0", "267", "320"));
}

TEST(PromptTokenizer, TellsTheNamesThatItLooksFor) {
  const auto exists = [](std::string_view name) { return name == "one" || name == "two"; };
  EXPECT_THAT(embedding_names("a (embedding:one:1.2), embedding:two,, embedding:none, x", exists), ElementsAre("one", "two", "none"));
  EXPECT_THAT(embedding_names("embedding:one\nembedding:one a,embedding:two", exists), ElementsAre("one"));
  EXPECT_THAT(embedding_names("embedding: ", exists), ElementsAre(""));
  EXPECT_THAT(embedding_names("no embedding", exists), IsEmpty());
}

TEST(PromptTokenizer, ReportsAMissingEmbeddingAndKeepsTheRest) {
  const TokenizedPrompt prompt = tokenizer().tokenize("a embedding:none cat", two_and_one);
  EXPECT_THAT(places(prompt), ElementsAre("320", "2368"));
  EXPECT_THAT(prompt.warnings, ElementsAre("warning, embedding:none cat does not exist, ignoring"));
  EXPECT_THAT(prompt.embeddings, IsEmpty());
}

TEST(PromptTokenizer, ReportsAMarkerWithoutAName) {
  const TokenizedPrompt prompt = tokenizer().tokenize("embedding:", two_and_one);
  EXPECT_THAT(places(prompt), IsEmpty());
  EXPECT_EQ(prompt.warnings.size(), 1U);
}

TEST(PromptTokenizer, AsksForEachNameOnce) {
  int asked = 0;
  const TokenizedPrompt prompt = tokenizer().tokenize("embedding:x embedding:x embedding:x", [&](std::string_view) {
    ++asked;
    return std::optional<Tensor>(Tensor::zeros(Shape({1, 4}), DType::f32));
  });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(prompt.embeddings.size(), 1U);
  EXPECT_EQ(places(prompt).size(), 3U);
}

TEST(PromptTokenizer, TakesTheMarkerAsTextWithoutASource) {
  const TokenizedPrompt prompt = tokenizer().tokenize("embedding:two", {});
  EXPECT_EQ(places(prompt).front(), "19703");
  EXPECT_THAT(prompt.warnings, IsEmpty());
}

TEST(PromptTokenizer, RefusesAnEmbeddingThatIsNoListOfVectors) {
  const auto cube = [](std::string_view) { return std::optional<Tensor>(Tensor::zeros(Shape({1, 2, 4}), DType::f32)); };
  EXPECT_THROW(tokenizer().tokenize("embedding:x", cube), Error);
  const auto numbers = [](std::string_view) { return std::optional<Tensor>(Tensor::zeros(Shape({2, 4}), DType::i64)); };
  EXPECT_THROW(tokenizer().tokenize("embedding:x", numbers), Error);
}

TEST(PromptTokenizer, LimitsTheNumberOfTokens) {
  const auto wide = [](std::string_view) { return std::optional<Tensor>(Tensor::zeros(Shape({200000, 1}), DType::f16)); };
  EXPECT_NO_THROW(tokenizer().tokenize("embedding:x", wide));
  EXPECT_THROW(tokenizer().tokenize("embedding:x embedding:x", wide), Error);
}

TEST(PromptTokenizer, TakesALongPrompt) {
  std::string text;
  while (text.size() < 100000) text += "cat, ";
  EXPECT_EQ(tokenizer().tokenize(text, two_and_one).chunks.size(), 40000U / 75U + 1U);
}

}  // namespace
}  // namespace veneer::models
