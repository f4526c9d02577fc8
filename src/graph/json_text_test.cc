#include "graph/json_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/python_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

TEST(JsonText, KeepsTheOrderOfMembersAndTheLastOfEqualNames) {
  EXPECT_EQ(dump_json(parse_json(R"({"b": 1, "a": [true, null], "b": 2})")), R"({"b": 2, "a": [true, null]})");
}

TEST(JsonText, WritesNumbersAsPythonDoes) {
  EXPECT_EQ(dump_json(parse_json("[8.0, 0.1, 1e16, 1e-5, 1.5e300, 123456789012345.0, -0.0, 18446744073709551615, -5]")),
            "[8.0, 0.1, 1e+16, 1e-05, 1.5e+300, 123456789012345.0, -0.0, 18446744073709551615, -5]");
  EXPECT_EQ(python_float(1234567890123456.0), "1234567890123456.0");
  EXPECT_EQ(python_float(0.0001), "0.0001");
  EXPECT_EQ(python_float(5e-324), "5e-324");
  EXPECT_EQ(whole_number(1180591620717411303424.0), "1180591620717411303424");
}

TEST(JsonText, WritesTextAsAsciiEscapes) {
  EXPECT_EQ(dump_json(parse_json(R"("q\" \\ \n \u0001 \u007f é € 😀 /")")), "\"q\\\" \\\\ \\n \\u0001 \\u007f \\u00e9 \\u20ac \\ud83d\\ude00 /\"");
}

TEST(JsonText, ReadsTheBareWordsOfPythonsJson) {
  const Json value = parse_json(R"({"a": NaN, "b": [Infinity, -Infinity], "NaN": "Infinity \" NaN"})");
  EXPECT_TRUE(std::isnan(value.at("a").get<double>()));
  EXPECT_EQ(dump_json(value), R"({"a": NaN, "b": [Infinity, -Infinity], "NaN": "Infinity \" NaN"})");
}

TEST(JsonText, RefusesBareWordsWhereANameStands) { EXPECT_THROW(parse_json("{NaN: 1}"), Error); }

TEST(JsonText, RefusesMalformedText) {
  for (const char* text : {"", "{", "{\"a\": }", "[1, 2", "nul", "NaNx", "\"\xff\"", "1 2", "{\"a\": NaN", "\"abc", "[1,]", "1e999", "\"\\ud800\""}) {
    EXPECT_THROW(parse_json(text), Error) << text;
  }
}

TEST(JsonText, SaysWhereTheTextBreaks) {
  try {
    parse_json("[1, x]");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid);
    EXPECT_EQ(e.find("at"), "5");
  }
}

TEST(JsonText, BoundsDepthAndSize) {
  JsonLimits limits;
  limits.max_depth = 3;
  EXPECT_NO_THROW(parse_json("[[[1]]]", limits));
  EXPECT_THROW(parse_json("[[[[1]]]]", limits), Error);
  EXPECT_THROW(parse_json(std::string(10'000'000, '['), {}), Error);
  limits.max_bytes = 4;
  EXPECT_THROW(parse_json("[1, 2]", limits), Error);
}

TEST(JsonText, ReadsBigObjectsInLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += (i == 0 ? "\"" : ", \"") + std::to_string(i) + "\": 1";
  EXPECT_EQ(parse_json(text + "}").size(), 100'000U);
}

TEST(PythonText, WritesValuesAsReprDoes) {
  EXPECT_EQ(python_repr(Json::parse(R"(["a", "it's", "\"both'", null, true, 1.0, {"k": [1]}, "tab\t"])")),
            R"(['a', "it's", '"both\'', None, True, 1.0, {'k': [1]}, 'tab\t'])");
  EXPECT_EQ(python_str(Json("plain")), "plain");
}

}  // namespace
}  // namespace veneer::graph
