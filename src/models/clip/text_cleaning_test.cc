#include "models/clip/text_cleaning.h"

#include <gtest/gtest.h>

namespace veneer::models {
namespace {

TEST(TextCleaning, LowersAndCollapsesWhiteSpace) { EXPECT_EQ(clean_text("  A\tPHOTO \n of\xC2\xA0 x\r"), U"a photo of x"); }

TEST(TextCleaning, DropsControlsWithoutLeavingASpace) { EXPECT_EQ(clean_text(std::string_view("x\0y\x07z\xE2\x80\x8Bw\xEF\xBF\xBD", 12)), U"xyzw"); }

TEST(TextCleaning, DropsBytesThatAreNoUtf8) { EXPECT_EQ(clean_text("a\xFF\xC3"), U"a"); }

TEST(TextCleaning, SetsIdeographsApartButNotKana) { EXPECT_EQ(clean_text("日本テスト"), U"日 本 テスト"); }

TEST(TextCleaning, ComposesAcrossTheWholeText) { EXPECT_EQ(clean_text("cafe\xCC\x81"), U"caf\u00e9"); }

TEST(TextCleaning, LowersEachWordOnItsOwn) { EXPECT_EQ(clean_text("ΑΣ Α"), U"\u03B1\u03C2 \u03B1"); }

TEST(TextCleaning, SplitsAtLineSeparators) { EXPECT_EQ(clean_text("a\xE2\x80\xA8z"), U"a z"); }

TEST(TextCleaning, LeavesNothingOfWhiteSpace) { EXPECT_EQ(clean_text(" \t\n "), U""); }

}  // namespace
}  // namespace veneer::models
