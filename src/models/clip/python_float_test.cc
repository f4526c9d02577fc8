#include "models/clip/python_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace veneer::models {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(PythonFloat, ReadsNumbers) {
  EXPECT_EQ(parse_python_float("1.5"), 1.5);
  EXPECT_EQ(parse_python_float(".5"), 0.5);
  EXPECT_EQ(parse_python_float("5."), 5.0);
  EXPECT_EQ(parse_python_float("+1.5"), 1.5);
  EXPECT_EQ(parse_python_float("-2"), -2.0);
  EXPECT_EQ(parse_python_float("1e1"), 10.0);
  EXPECT_EQ(parse_python_float("1E+2"), 100.0);
  EXPECT_EQ(parse_python_float("25e-1"), 2.5);
  EXPECT_TRUE(std::signbit(*parse_python_float("-0")));
}

TEST(PythonFloat, AllowsSurroundingWhiteSpace) {
  EXPECT_EQ(parse_python_float(" 1.4 \n"), 1.4);
  EXPECT_EQ(parse_python_float("\xC2\xA0"
                               "1.4"),
            1.4);
  EXPECT_FALSE(parse_python_float("1 4"));
  EXPECT_FALSE(parse_python_float("- 1"));
}

TEST(PythonFloat, AllowsUnderscoresBetweenDigitsOnly) {
  EXPECT_EQ(parse_python_float("1_0"), 10.0);
  EXPECT_EQ(parse_python_float("1_0.2_5e1_0"), 10.25e10);
  for (const char* text : {"_1", "1_", "1__0", "1_.5", "1._5", "1e_5", "1_e5", "_"}) EXPECT_FALSE(parse_python_float(text)) << text;
}

TEST(PythonFloat, ReadsInfinityAndNan) {
  EXPECT_EQ(parse_python_float("inf"), kInfinity);
  EXPECT_EQ(parse_python_float("-Infinity"), -kInfinity);
  EXPECT_TRUE(std::isnan(*parse_python_float("NaN")));
  for (const char* text : {"in", "infi", "nan(1)", "infinityx"}) EXPECT_FALSE(parse_python_float(text)) << text;
}

TEST(PythonFloat, ReadsDigitsOfOtherScripts) { EXPECT_EQ(parse_python_float("١.٥"), 1.5); }

TEST(PythonFloat, RefusesEverythingElse) {
  for (const char* text : {"", " ", ".", "+", "1,5", "0x10", "1f", "e5", "1e", "1e+", "--1", "1.2.3", "a", "é", "1\xFF"}) {
    EXPECT_FALSE(parse_python_float(text)) << text;
  }
}

TEST(PythonFloat, SaturatesWhatIsTooLargeOrTooSmall) {
  EXPECT_EQ(parse_python_float("1e400"), kInfinity);
  EXPECT_EQ(parse_python_float("-1e400"), -kInfinity);
  EXPECT_EQ(parse_python_float("1e-400"), 0.0);
  EXPECT_EQ(parse_python_float("1e99999999999999999999999"), kInfinity);
  EXPECT_EQ(parse_python_float("1e-99999999999999999999999"), 0.0);
  EXPECT_EQ(parse_python_float("0e99999999999999999999999"), 0.0);
  EXPECT_EQ(parse_python_float("1" + std::string(400, '0') + "e-400"), 1.0);
  EXPECT_EQ(parse_python_float("0." + std::string(400, '0') + "1e402"), 10.0);
  EXPECT_EQ(parse_python_float(std::string(400, '1') + "e1"), kInfinity);
  EXPECT_EQ(parse_python_float("0." + std::string(400, '0') + "1"), 0.0);
}

}  // namespace
}  // namespace veneer::models
