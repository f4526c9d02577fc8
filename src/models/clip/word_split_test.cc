#include "models/clip/word_split.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace veneer::models {
namespace {

using ::testing::ElementsAre;

std::vector<std::u32string> words(std::u32string_view text) {
  std::vector<std::u32string> out;
  for (size_t i = 0; i < text.size();) {
    if (is_between_words(text[i])) {
      ++i;
      continue;
    }
    out.emplace_back(text.substr(i, word_length(text, i)));
    i += out.back().size();
  }
  return out;
}

TEST(WordSplit, KeepsLettersTogetherAndNumbersApart) { EXPECT_THAT(words(U"abc12é½"), ElementsAre(U"abc", U"1", U"2", U"é", U"½")); }

TEST(WordSplit, CutsContractions) {
  EXPECT_THAT(words(U"it's we'll they've i'm you'd we're don't"),
              ElementsAre(U"it", U"'s", U"we", U"'ll", U"they", U"'ve", U"i", U"'m", U"you", U"'d", U"we", U"'re", U"don", U"'t"));
}

TEST(WordSplit, TakesLongSForS) { EXPECT_THAT(words(U"it'\u017F"), ElementsAre(U"it", U"'\u017F")); }

TEST(WordSplit, CutsAContractionOutOfALongerWord) { EXPECT_THAT(words(U"o'sullivan"), ElementsAre(U"o", U"'s", U"ullivan")); }

TEST(WordSplit, LetsARunOfOthersSwallowAnApostrophe) { EXPECT_THAT(words(U"!'s"), ElementsAre(U"!'", U"s")); }

TEST(WordSplit, FindsSpecialTokensOnlyWhereAWordBegins) {
  EXPECT_THAT(words(U"x<|endoftext|>y"), ElementsAre(U"x", U"<|endoftext|>", U"y"));
  EXPECT_THAT(words(U"!<|endoftext|>"), ElementsAre(U"!<|", U"endoftext", U"|>"));
}

TEST(WordSplit, SkipsCombiningIota) { EXPECT_THAT(words(U"x\u0345y"), ElementsAre(U"x", U"y")); }

TEST(WordSplit, KeepsMarksWithPunctuation) { EXPECT_THAT(words(U"i\u0307-x"), ElementsAre(U"i", U"\u0307-", U"x")); }

}  // namespace
}  // namespace veneer::models
