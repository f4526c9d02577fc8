#include "graph/value.h"

#include <gtest/gtest.h>

#include "graph/call_mapping.h"
#include "graph/graph_builder.h"
#include "graph/inputs.h"
#include "graph/node_context.h"
#include "tensor/tensor.h"

namespace veneer::graph {
namespace {

TEST(Value, KnowsItsNaturalType) {
  EXPECT_EQ(Value().type(), "NONE");
  EXPECT_EQ(Value::integer(1).type(), "INT");
  EXPECT_EQ(Value::number(1).type(), "FLOAT");
  EXPECT_EQ(Value::text("a").type(), "STRING");
  EXPECT_EQ(Value::boolean(true).type(), "BOOLEAN");
  EXPECT_EQ(Value::json(Json::array()).type(), "JSON");
  EXPECT_EQ(Value::of("MODEL", 5).type(), "MODEL");
}

TEST(Value, CarriesSeedsUpToTwoToTheSixtyFour) {
  const Value seed = Value::unsigned_integer(18446744073709551615ULL);
  EXPECT_EQ(seed.as_unsigned(), 18446744073709551615ULL);
  EXPECT_THROW(seed.as_integer(), Error);
  EXPECT_THROW(Value::integer(-1).as_unsigned(), Error);
  EXPECT_THROW(Value::number(1e300).as_integer(), Error);
  EXPECT_EQ(Value::number(-2.9).as_integer(), -2);
}

TEST(Value, GivesAnObjectOnlyAsWhatItIs) {
  const auto number = std::make_shared<const int>(5);
  const Value value = Value::object("THING", number);
  EXPECT_EQ(value.get<int>(), 5);
  EXPECT_EQ(value.share<int>(), number);
  EXPECT_TRUE(value.holds<int>());
  EXPECT_FALSE(value.holds<double>());
  EXPECT_THROW(value.get<double>(), Error);
  EXPECT_THROW(Value::text("x").get<int>(), Error);
  EXPECT_THROW(value.as_text(), Error);
  EXPECT_TRUE(Value::object<int>("THING", nullptr).is_none());
}

TEST(Value, SharesItsContentAmongCopies) {
  const Value value = Value::of("THING", std::string("x"));
  Value copy;
  copy = value;
  EXPECT_EQ(&value.get<std::string>(), &copy.get<std::string>());
}

TEST(Value, DescribesItselfForErrorReports) {
  EXPECT_EQ(Value::number(2.5).describe(), Json(2.5));
  EXPECT_EQ(Value().describe(), Json());
  EXPECT_EQ(Value::of("IMAGE", Tensor::zeros({1, 2, 3}, DType::f32)).describe(), Json("<IMAGE [1, 2, 3] f32>"));
  EXPECT_EQ(Value::list({Value(), Value()}).describe(), Json("<LIST of 2>"));
}

TEST(Inputs, NameTheInputThatIsMissingOrOfAnotherType) {
  Inputs inputs;
  inputs.set("steps", Value::text("many"));
  inputs.set("none", Value());
  for (const char* name : {"steps", "none", "absent"}) {
    try {
      inputs.integer(name);
      FAIL() << name;
    } catch (const Error& e) {
      EXPECT_EQ(e.find("input"), name);
      EXPECT_EQ(e.code(), ErrorCode::invalid);
    }
  }
  EXPECT_FALSE(inputs.has("none"));
  EXPECT_TRUE(inputs.contains("none"));
  EXPECT_EQ(inputs.integer_or("absent", 7), 7);
  EXPECT_EQ(inputs.share_or_null<int>("none"), nullptr);
}

TEST(NodeContext, WorksWithoutAnExecutor) {
  const Environment environment;
  NodeContext context(environment);
  context.progress(1, 2);
  EXPECT_TRUE(context.prompt().is_null());
  *context.state<int>() = 5;
  EXPECT_EQ(*context.state<int>(), 5);
  EXPECT_THROW(context.graph(), Error);
  EXPECT_THROW(context.service<std::string>(), Error);
  context.cancel().cancel();
  EXPECT_THROW(context.progress(2, 2), Error);
}

TEST(GraphBuilder, CountsGraphsAndRefusesEqualIds) {
  const Environment environment;
  NodeContext context(environment, {"7", "7", std::nullopt, "7", "X"});
  GraphBuilder first(context);
  EXPECT_EQ(first.node("A").id(), "7.0.0.1");
  EXPECT_EQ(first.node("A", "x").id(), "7.0.0.x");
  EXPECT_THROW(first.node("A", "x"), Error);
  GraphBuilder second(context);
  EXPECT_EQ(second.node("A").id(), "7.0.1.1");
  EXPECT_EQ(first.find("1")->set("in", Value::integer(1)).set("in", Link{"7.0.0.x", 0}).description().inputs.size(), 1U);
  EXPECT_TRUE(first.find("1")->unset("in").description().inputs.empty());
}

NodeDef two_outputs() {
  NodeDef def;
  def.outputs = {{"a", "INT", false, ""}, {"b", "INT", true, ""}};
  return def;
}

TEST(CallMapping, RefusesAnEmptyListBesideAFullOne) {
  Inputs gathered;
  gathered.set_list("a", {});
  EXPECT_TRUE(split_calls(NodeDef(), gathered).empty());
  gathered.set("b", Value::integer(1));
  EXPECT_THROW(split_calls(NodeDef(), gathered), Error);
}

TEST(CallMapping, JoinsOutputsAndFlattensListsOneLevel) {
  std::vector<CallResult> calls(3);
  calls[0].result = NodeResult{Value::integer(1), Value::list({Value::integer(2), Value::list({})})};
  calls[1].blocked = true;
  calls[1].blocker = Value::blocker();
  calls[2].result = NodeResult{Value::integer(3)};
  const auto outputs = merge_outputs(two_outputs(), calls, {});
  ASSERT_EQ(outputs[0].size(), 3U);
  EXPECT_TRUE(outputs[0][1].is_blocker());
  ASSERT_EQ(outputs[1].size(), 4U);
  EXPECT_TRUE(outputs[1][1].is_list());
  EXPECT_TRUE(outputs[1][2].is_blocker());
  EXPECT_TRUE(outputs[1][3].is_none());
}

TEST(CallMapping, RefusesResultsThatDoNotFitTheClass) {
  std::vector<CallResult> calls(1);
  calls[0].result = NodeResult{Value(), Value::integer(1)};
  EXPECT_THROW(merge_outputs(two_outputs(), calls, {}), Error);
  calls[0].result = NodeResult{Value(), Value::list({}), Value()};
  EXPECT_THROW(merge_outputs(two_outputs(), calls, {}), Error);
}

TEST(CallMapping, JoinsRecordsByTheMembersOfTheFirst) {
  std::vector<CallResult> calls(3);
  calls[0].result.ui = Json::parse(R"({"images": [1], "text": "a"})");
  calls[2].result.ui = Json::parse(R"({"images": [2, 3], "other": [4]})");
  EXPECT_EQ(merge_ui(calls), Json::parse(R"({"images": [1, 2, 3], "text": ["a"]})"));
  EXPECT_TRUE(merge_ui({}).is_null());
}

}  // namespace
}  // namespace veneer::graph
