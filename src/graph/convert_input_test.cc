#include "graph/convert_input.h"

#include <gtest/gtest.h>

#include <cmath>

namespace veneer::graph {
namespace {

std::string as(const char* type, const Json& value) {
  const Conversion result = convert_input(value, type);
  return result.ok() ? result.value.dump() : "! " + result.reason;
}

TEST(ConvertInput, MakesIntegersAsPythonDoes) {
  EXPECT_EQ(as("INT", 2.9), "2");
  EXPECT_EQ(as("INT", -2.9), "-2");
  EXPECT_EQ(as("INT", true), "1");
  EXPECT_EQ(as("INT", " +1_000 "), "1000");
  EXPECT_EQ(as("INT", "-5"), "-5");
  EXPECT_EQ(as("INT", "18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(as("INT", 18446744073709549568.0), "18446744073709549568");
  EXPECT_EQ(as("INT", "1.5"), "! invalid literal for int() with base 10: '1.5'");
  EXPECT_EQ(as("INT", ""), "! invalid literal for int() with base 10: ''");
  for (const char* bad : {"_1", "1_", "1__0", "+-1", "--1", "0x10", "1 0", "-", "+"}) EXPECT_EQ(as("INT", bad).substr(0, 3), "! i") << bad;
  EXPECT_EQ(as("INT", std::string(5000, '9')), "! Exceeds the limit (4300 digits) for integer string conversion");
  EXPECT_EQ(as("INT", std::nan("")), "! cannot convert float NaN to integer");
  EXPECT_EQ(as("INT", HUGE_VAL), "! cannot convert float infinity to integer");
  EXPECT_EQ(as("INT", Json::array()), "! int() argument must be a string, a bytes-like object or a real number, not 'list'");
}

TEST(ConvertInput, MakesFloatsAsPythonDoes) {
  EXPECT_EQ(as("FLOAT", 3), "3.0");
  EXPECT_EQ(as("FLOAT", " 1e3 "), "1000.0");
  EXPECT_EQ(as("FLOAT", "1_0.5"), "10.5");
  EXPECT_EQ(as("FLOAT", "+.5"), "0.5");
  EXPECT_EQ(convert_input("-Infinity", "FLOAT").value.get<double>(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(convert_input("nan", "FLOAT").value.get<double>()));
  EXPECT_EQ(convert_input("1e999", "FLOAT").value.get<double>(), HUGE_VAL);
  EXPECT_EQ(convert_input("1e-999", "FLOAT").value.get<double>(), 0.0);
  EXPECT_EQ(as("FLOAT", "x"), "! could not convert string to float: 'x'");
  for (const char* bad : {"", "nan(1)", "0x1", "1e", "1.5.2", "+-1"}) EXPECT_EQ(as("FLOAT", bad).substr(0, 3), "! c") << bad;
  EXPECT_EQ(as("FLOAT", nullptr), "! float() argument must be a string or a real number, not 'NoneType'");
}

TEST(ConvertInput, MakesTextAndTruthOfAnything) {
  EXPECT_EQ(as("STRING", 5), "\"5\"");
  EXPECT_EQ(as("STRING", 1.0), "\"1.0\"");
  EXPECT_EQ(as("STRING", nullptr), "\"None\"");
  EXPECT_EQ(as("STRING", Json::parse(R"({"a": [1]})")), "\"{'a': [1]}\"");
  EXPECT_EQ(as("BOOLEAN", "false"), "true");
  EXPECT_EQ(as("BOOLEAN", 0), "false");
  EXPECT_EQ(as("BOOLEAN", Json::array()), "false");
  EXPECT_EQ(as("BOOLEAN", nullptr), "false");
}

TEST(ConvertInput, LeavesOtherTypesAlone) {
  EXPECT_EQ(as("IMAGE,FLOAT", 5), "5");
  EXPECT_EQ(as("MODEL", "x"), "\"x\"");
}

TEST(CompareNumbers, IsExactFor64BitIntegersOfEitherSign) {
  EXPECT_EQ(compare_numbers(18446744073709551615ULL, 9223372036854775807LL), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(-1, 18446744073709551615ULL), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(9007199254740993LL, 9007199254740992LL), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(-2, -3), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(1, 1.0), std::partial_ordering::equivalent);
  constexpr double kTwo64 = 18446744073709551616.0;
  EXPECT_EQ(compare_numbers(kTwo64, 18446744073709551615ULL), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(18446744073709551615ULL, kTwo64), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(9007199254740992.0, 9007199254740993LL), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(-9223372036854775808.0, -9223372036854775807LL), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(-1.5, -1), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(1.5, 1), std::partial_ordering::greater);
  EXPECT_EQ(compare_numbers(-std::numeric_limits<double>::infinity(), 0), std::partial_ordering::less);
  EXPECT_EQ(compare_numbers(std::nan(""), 1), std::partial_ordering::unordered);
  EXPECT_EQ(compare_numbers(nullptr, 1), std::partial_ordering::unordered);
}

}  // namespace
}  // namespace veneer::graph
