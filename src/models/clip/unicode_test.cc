#include "models/clip/unicode.h"

#include <gtest/gtest.h>

#include <string>

namespace veneer::models {
namespace {

constexpr char32_t kAcute = 0x301;     // combining class 230
constexpr char32_t kDotBelow = 0x323;  // combining class 220

TEST(Unicode, DecodesEveryLengthOfSequence) { EXPECT_EQ(decode_utf8("a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80"), U"a\u00e9\u4e2d\U0001F600"); }

TEST(Unicode, ReplacesBytesThatAreNoUtf8) {
  EXPECT_EQ(decode_utf8("a\xFFz"), U"a\uFFFDz");
  EXPECT_EQ(decode_utf8("\xC3"), U"\uFFFD");                                // cut off
  EXPECT_EQ(decode_utf8("\xC0\x80"), U"\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(decode_utf8("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");            // a surrogate
  EXPECT_EQ(decode_utf8("\xF4\x90\x80\x80"), U"\uFFFD\uFFFD\uFFFD\uFFFD");  // beyond U+10FFFF
}

TEST(Unicode, EncodesWhatItDecodes) {
  const std::string text = "a\xC3\xA9\xE4\xB8\xAD\xF0\x9F\x98\x80";
  EXPECT_EQ(encode_utf8(decode_utf8(text)), text);
}

TEST(Unicode, SortsCharactersIntoCategories) {
  EXPECT_TRUE(is_letter(U'a') && is_letter(0x4E2D) && is_letter(0x2B0));
  EXPECT_FALSE(is_letter(U'1') || is_letter(kAcute));
  EXPECT_TRUE(is_number(U'1') && is_number(0xBD) && is_number(0x2460));
  EXPECT_TRUE(is_control(7) && is_control(0x200B) && is_control(0xE000) && is_control(0x378));
  EXPECT_FALSE(is_control(U' ') || is_control(U'a'));
  EXPECT_TRUE(is_space_separator(0xA0) && is_space_separator(0x3000));
  EXPECT_FALSE(is_space_separator(U'\n') || is_space_separator(0x2028));
}

TEST(Unicode, SplitsWherePythonDoes) {
  for (const char32_t c :
       {U'\t', U'\n', U'\v', U'\f', U'\r', U' ', char32_t{0x1C}, char32_t{0x1F}, char32_t{0x85}, char32_t{0xA0}, char32_t{0x2028}}) {
    EXPECT_TRUE(is_python_space(c)) << static_cast<uint32_t>(c);
  }
  for (const char32_t c : {U'a', char32_t{0x1B}, char32_t{0x200B}, char32_t{0}}) EXPECT_FALSE(is_python_space(c)) << static_cast<uint32_t>(c);
}

TEST(Unicode, ReadsDigitsOfAnyScript) {
  EXPECT_EQ(decimal_value(U'7'), 7);
  EXPECT_EQ(decimal_value(0x0663), 3);   // Arabic-Indic
  EXPECT_EQ(decimal_value(0xFF15), 5);   // full width
  EXPECT_EQ(decimal_value(0x1D7FF), 9);  // the last of five runs of mathematical digits that follow one another
  EXPECT_EQ(decimal_value(0x1D7D8), 0);
  EXPECT_EQ(decimal_value(0xB2), -1);  // superscript two is no decimal digit
  EXPECT_EQ(decimal_value(U'x'), -1);
}

TEST(Unicode, LowersSigmaByItsNeighbours) {
  EXPECT_EQ(to_lower(U"\u0391\u03A3"), U"\u03B1\u03C2");
  EXPECT_EQ(to_lower(U"\u0391\u03A3\u0391"), U"\u03B1\u03C3\u03B1");
  EXPECT_EQ(to_lower(U"\u03A3"), U"\u03C3");
  EXPECT_EQ(to_lower(U"\u0391.\u03A3'"), U"\u03B1.\u03C2'");  // through what is case-ignorable
  EXPECT_EQ(to_lower(U"\u0391\u03A3'\u0391"), U"\u03B1\u03C3'\u03B1");
  EXPECT_EQ(to_lower(U"1\u03A3"), U"1\u03C3");
}

TEST(Unicode, LowersDottedCapitalIToTwoCharacters) { EXPECT_EQ(to_lower(U"\u0130X"), U"i\u0307x"); }

TEST(Unicode, ComposesAndOrdersMarks) {
  EXPECT_EQ(normalize_nfc(U"e\u0301"), U"\u00e9");
  EXPECT_EQ(normalize_nfc(std::u32string{U'q', kAcute, kDotBelow}), (std::u32string{U'q', kDotBelow, kAcute}));
  EXPECT_EQ(normalize_nfc(U"\u1100\u1161\u11a8"), U"\uac01");
  EXPECT_EQ(normalize_nfc(U"\uf900"), U"\u8c48");
  EXPECT_EQ(normalize_nfc(U"plain \u00e9"), U"plain \u00e9");
}

TEST(Unicode, OrdersAMillionMarks) {
  // Sorting them by swapping neighbours would take a quarter of 10^12 steps.
  const size_t half = 500000;
  std::u32string text(1, U'q');
  text.append(half, kAcute).append(half, kDotBelow);
  std::u32string want(1, U'q');
  want.append(half, kDotBelow).append(half, kAcute);
  EXPECT_EQ(normalize_nfc(text), want);
}

}  // namespace
}  // namespace veneer::models
