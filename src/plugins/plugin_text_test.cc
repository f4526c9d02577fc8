#include "plugins/plugin_text.h"

#include <gtest/gtest.h>

#include "veneer/error.h"

namespace veneer::plugins {
namespace {

TEST(PluginText, KnowsUtf8) {
  for (const char* good : {"", "a", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) EXPECT_TRUE(is_utf8(good)) << good;
  // A lone continuation, overlong forms, a surrogate, beyond U+10FFFF, cut off.
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x9f\x98", "\xff"})
    EXPECT_FALSE(is_utf8(bad)) << bad;
}

TEST(PluginText, MakesTextPrintable) {
  EXPECT_EQ(printable_text(as_abi("a\xff\xc3\xa9\xc3")), "a?\xc3\xa9?");
  EXPECT_EQ(printable_text({nullptr, 0}), "");
  EXPECT_EQ(printable_text({nullptr, 7}), "");
}

TEST(PluginText, RefusesOtherBytes) {
  EXPECT_EQ(checked_text(as_abi("fine"), "a name"), "fine");
  EXPECT_THROW(checked_text(as_abi("\xff"), "a name"), Error);
}

}  // namespace
}  // namespace veneer::plugins
