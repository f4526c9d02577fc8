#include "byte_size.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace veneer::cli {
namespace {

using ::testing::HasSubstr;

TEST(ByteSize, IsANumberOfBytes) {
  EXPECT_EQ(parse_byte_size("0"), 0U);
  EXPECT_EQ(parse_byte_size("1"), 1U);
  EXPECT_EQ(parse_byte_size("4294967296"), uint64_t{1} << 32);
  EXPECT_EQ(parse_byte_size("007"), 7U);
  EXPECT_EQ(parse_byte_size("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(ByteSize, TakesSuffixesInEitherCase) {
  for (const char* text : {"3K", "3k", "3KiB", "3kib", "3KIB"}) EXPECT_EQ(parse_byte_size(text), 3072U) << text;
  for (const char* text : {"3M", "3m", "3MiB", "3mib"}) EXPECT_EQ(parse_byte_size(text), 3U << 20) << text;
  for (const char* text : {"3G", "3g", "3GiB", "3gib"}) EXPECT_EQ(parse_byte_size(text), uint64_t{3} << 30) << text;
}

TEST(ByteSize, RefusesWhatIsNoSize) {
  for (const char* text :
       {"", " ", "-1", "-1G", "+1", "1.5G", "1e9", "0x10", " 1", "1 ", "1 G", "G", "1KB", "1GB", "1T", "1GiBs", "nan", "inf", "auto"}) {
    EXPECT_EQ(parse_byte_size(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_byte_size(std::string_view("1\0G", 3)), std::nullopt);
}

TEST(ByteSize, RefusesWhatDoesNotFit64Bits) {
  EXPECT_EQ(parse_byte_size("18446744073709551616"), std::nullopt);
  EXPECT_EQ(parse_byte_size("17179869184G"), std::nullopt);
  EXPECT_EQ(parse_byte_size("17179869183G"), uint64_t{17179869183} << 30);
  EXPECT_EQ(parse_byte_size("18014398509481984K"), std::nullopt);
}

TEST(ByteSize, AsAFlagNamesTheAllowedForm) {
  std::string bad = "lots";
  EXPECT_THAT(byte_size(true)(bad), ::testing::AllOf(HasSubstr("lots"), HasSubstr("auto, or"), HasSubstr(kByteSizeForm)));
  std::string automatic = "auto";
  EXPECT_EQ(byte_size(true)(automatic), "");
  EXPECT_THAT(byte_size(false)(automatic), HasSubstr(kByteSizeForm));
  std::string good = "2GiB";
  EXPECT_EQ(byte_size(false)(good), "");
}

TEST(ByteSize, IsPrintedInTheLargestUnitThatFits) {
  EXPECT_EQ(format_byte_size(0), "0 B");
  EXPECT_EQ(format_byte_size(1023), "1023 B");
  EXPECT_EQ(format_byte_size(1024), "1.0 KiB");
  EXPECT_EQ(format_byte_size(1048575), "1.0 MiB");
  EXPECT_EQ(format_byte_size(30272350), "28.9 MiB");
  EXPECT_EQ(format_byte_size(uint64_t{4} << 30), "4.0 GiB");
  EXPECT_EQ(format_byte_size(std::numeric_limits<uint64_t>::max()), "16.0 EiB");
}

}  // namespace
}  // namespace veneer::cli
