#include "formats/latin1.h"

#include <gtest/gtest.h>

namespace veneer::formats {
namespace {

TEST(Latin1, GoesThereAndBackForEveryCharacter) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(latin1_from_utf8(utf8_from_latin1(all)), all);
}

TEST(Latin1, HasNoPlaceForOtherCharacters) {
  EXPECT_EQ(latin1_from_utf8("ÿ"), "\xFF");
  EXPECT_EQ(latin1_from_utf8("Ā"), std::nullopt);
  EXPECT_EQ(latin1_from_utf8("\xFF"), std::nullopt);
}

TEST(Utf8, AcceptsTheBoundsOfEachLength) {
  for (const char* text :
       {"", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
}

TEST(Utf8, RefusesIllFormedText) {
  for (const char* text : {"\x80", "\xC1\xBF", "\xC2", "\xC2\x41", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                           "\xF8\x88\x80\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

}  // namespace
}  // namespace veneer::formats
