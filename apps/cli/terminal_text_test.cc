#include "terminal_text.h"

#include <gtest/gtest.h>

namespace veneer::cli {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  const std::string text = "a cat, \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \\ ~";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, WritesControlCharactersAsEscapes) {
  EXPECT_EQ(printable("a\nb\rc\td"), "a\\nb\\rc\\td");
  EXPECT_EQ(printable("\x1b[2J\a\x7f"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J"),
            "\\u009b2J");
}

TEST(Printable, WritesBytesThatAreNoTextAsEscapes) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\x9b!"), "\\x9b!");
  EXPECT_EQ(printable("\xC3("), "\\xc3(");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xc0\\xaf") << "longer than it need be";
  EXPECT_EQ(printable("\xE0\x80\x9B"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "beyond the last character";
  EXPECT_EQ(printable("a\xE2\x82"), "a\\xe2\\x82") << "cut short";
}

TEST(Printable, CutsLongTextBetweenCharactersAndSaysHowLongItIs) {
  EXPECT_EQ(printable("abcd", 4), "abcd");
  EXPECT_EQ(printable("abcde", 4), "abcd... (5 bytes)");
  EXPECT_EQ(printable("abc\xC3\xA9", 4), "abc... (5 bytes)");
  EXPECT_EQ(printable("\n\n\n", 2), "\\n\\n... (3 bytes)");
  EXPECT_EQ(printable("abc", 0), "... (3 bytes)");
}

TEST(TerminalWidth, FollowsTheWidthOfCharacters) {
  EXPECT_EQ(terminal_width(""), 0U);
  EXPECT_EQ(terminal_width("abc"), 3U);
  EXPECT_EQ(terminal_width("\u00E9\u0436"), 2U);
  EXPECT_EQ(terminal_width("e\u0301"), 1U) << "a mark";
  EXPECT_EQ(terminal_width("\u65E5\u672C\uFF21\uAC00"), 8U);
  EXPECT_EQ(terminal_width("\U0001F600"), 2U);
  EXPECT_EQ(terminal_width("\uFF76"), 2U - 1U) << "half width";
  EXPECT_EQ(terminal_width("\xff\xfe"), 2U) << "no text";
}

}  // namespace
}  // namespace veneer::cli
