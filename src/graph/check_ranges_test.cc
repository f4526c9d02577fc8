#include "graph/check_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/testing_pack.h"

namespace veneer::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

NodeDef limited() {
  NodeDef def;
  def.class_type = "Limited";
  def.output_node = true;
  def.inputs = {InputDef::integer("count", 1, 1, 9).as_optional(), InputDef::number("share", 0.5, 0.0, 1.0).as_optional(),
                InputDef::socket("any", "*").as_optional()};
  def.run = [](NodeContext&, const Inputs& in) { return NodeResult::with_ui({{"count", Json::array({in.integer_or("count", 0)})}}); };
  return def;
}

// What is wrong with the inputs; "" for nothing.
std::string fault(const NodeDef& def, const std::string& name, std::vector<Value> values) {
  Inputs call;
  call.set_list(name, std::move(values));
  try {
    check_ranges(def, call);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    return error.what();
  }
  return "";
}

TEST(CheckRanges, TakesBothEndsOfARange) {
  for (const int64_t value : {1, 9}) EXPECT_EQ(fault(limited(), "count", {Value::integer(value)}), "");
  for (const double value : {0.0, 1.0}) EXPECT_EQ(fault(limited(), "share", {Value::number(value)}), "");
}

TEST(CheckRanges, NamesInputValueAndRange) {
  EXPECT_EQ(fault(limited(), "count", {Value::integer(0)}),
            "the value is outside of the input's range: input=count, value=0, allowed=INT from 1 to 9");
  EXPECT_EQ(fault(limited(), "share", {Value::number(1.5)}),
            "the value is outside of the input's range: input=share, value=1.5, allowed=FLOAT from 0.0 to 1.0");
  EXPECT_THAT(fault(limited(), "share", {Value::number(std::nan(""))}), HasSubstr("input=share, value=NaN"));
  EXPECT_THAT(fault(limited(), "share", {Value::number(-HUGE_VAL)}), HasSubstr("input=share, value=-Infinity"));
}

TEST(CheckRanges, LooksAtEveryElementOfAList) {
  EXPECT_THAT(fault(limited(), "count", {Value::integer(1), Value::integer(10)}), HasSubstr("value=10"));
}

TEST(CheckRanges, LeavesOtherValuesAndInputsWithoutARangeAlone) {
  EXPECT_EQ(fault(limited(), "count", {Value(), Value::text("many"), picture(300)}), "");
  EXPECT_EQ(fault(limited(), "any", {Value::number(std::nan(""))}), "");
  NodeDef wide = limited();
  wide.inputs = {InputDef::number("value", 0, -9223372036854775807.0, 9223372036854775807.0)};
  EXPECT_EQ(fault(wide, "value", {Value::number(std::nan(""))}), "") << "a range of all numbers is none";
}

TEST(CheckRanges, LeavesWhatTheClassChecksItselfToTheClass) {
  NodeDef def = limited();
  def.validator.check = [](const Environment&, const Inputs&, const std::map<std::string, std::string>&) { return NodeValidator::Answer(); };
  def.validator.inputs = {"count"};
  EXPECT_EQ(fault(def, "count", {Value::integer(10)}), "");
  EXPECT_NE(fault(def, "share", {Value::number(2)}), "");
  def.validator.takes_all = true;
  EXPECT_EQ(fault(def, "share", {Value::number(2)}), "");
}

std::string limited_by(const std::string& count) {
  return R"({"1": {"class_type": "StubInt", "inputs": {"value": )" + count + R"(}}, "2": {"class_type": "Limited", "inputs": {"count": ["1", 0]}}})";
}

TEST(LinkedRanges, AreCheckedBeforeTheCall) {
  for (const bool async : {false, true}) {
    Bench bench;
    NodeDef def = limited();
    def.async = async;
    bench.registry.add(std::move(def));
    bench.run(limited_by("9"));
    EXPECT_EQ(bench.result.status, ExecutionStatus::success);
    bench.run(limited_by("10"));
    ASSERT_EQ(bench.result.status, ExecutionStatus::error);
    EXPECT_EQ(bench.result.error->node_id, "2");
    EXPECT_EQ(bench.result.error->exception_type, "ValueError");
    EXPECT_EQ(bench.result.error->exception_message, "the value is outside of the input's range: input=count, value=10, allowed=INT from 1 to 9\n");
    EXPECT_THAT(bench.result.executed, ElementsAre("1"));
  }
}

TEST(LinkedRanges, DoNotMatterToACallThatIsBlocked) {
  Bench bench;
  bench.registry.add(limited());
  bench.run(R"({"1": {"class_type": "StubInt", "inputs": {"value": 10}},
    "2": {"class_type": "TestExecutionBlocker", "inputs": {"input": ["1", 0], "block": true, "verbose": false}},
    "3": {"class_type": "Limited", "inputs": {"count": ["1", 0], "any": ["2", 0]}}})");
  EXPECT_EQ(bench.result.status, ExecutionStatus::success);
}

}  // namespace
}  // namespace veneer::graph
