#include "plugins/description.h"

#include <gtest/gtest.h>

#include "graph/object_info.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

// The error's text for a description that is refused; "" if it is not.
std::string refusal(const std::string& json) {
  try {
    static_cast<void>(parse_description(json));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    return error.what();
  }
}

TEST(Description, SaysAllThatObjectInfoSays) {
  const graph::NodeDef def = parse_description(R"({
    "class": "Mix", "display_name": "Mix it", "category": "a/b", "description": "help", "output_node": true, "deprecated": true, "experimental": true,
    "inputs": [
      {"name": "image", "type": "IMAGE", "options": {"lazy": true}},
      {"name": "amount", "type": "FLOAT", "options": {"default": 0.5, "min": 0.0, "max": 1.0, "step": 0.1, "display": "slider", "tooltip": "how much"}},
      {"name": "mode", "choices": ["a", "b"]},
      {"name": "newer", "choices": ["a", "b"], "combo": true},
      {"name": "link", "section": "optional", "type": "*", "options": {"rawLink": true, "forceInput": true}},
      {"name": "id", "section": "hidden", "type": "UNIQUE_ID"}],
    "outputs": [{"type": "IMAGE"}, {"type": "INT", "name": "count", "is_list": true}]})");
  const graph::Json info = graph::object_info(def, graph::Environment());
  EXPECT_EQ(
      info.at("input").at("required").dump(),
      R"({"image":["IMAGE",{"lazy":true}],"amount":["FLOAT",{"default":0.5,"min":0.0,"max":1.0,"step":0.1,"display":"slider","tooltip":"how much"}],)"
      R"("mode":[["a","b"]],"newer":["COMBO",{"options":["a","b"]}]})");
  EXPECT_EQ(info.at("input").at("optional").dump(), R"({"link":["*",{"forceInput":true,"rawLink":true}]})");
  EXPECT_EQ(info.at("input").at("hidden").dump(), R"({"id":"UNIQUE_ID"})");
  EXPECT_EQ(info.at("output").dump(), R"(["IMAGE","INT"])");
  EXPECT_EQ(info.at("output_name").dump(), R"(["IMAGE","count"])");
  EXPECT_EQ(info.at("output_is_list").dump(), "[false,true]");
  EXPECT_EQ(info.at("category"), "a/b");
  EXPECT_TRUE(info.at("output_node").get<bool>());
  EXPECT_TRUE(info.at("deprecated").get<bool>());
  EXPECT_TRUE(def.wants_unique_id());
}

TEST(Description, ReadsTheFlagsOfExecution) {
  const graph::NodeDef def = parse_description(
      R"({"class": "X", "input_is_list": true, "accepts_any_input": true, "not_idempotent": true, "async": true,
          "inputs": [{"name": "a", "type": "INT"}], "validates": {"inputs": ["a"], "input_types": true}})");
  EXPECT_TRUE(def.input_is_list && def.accepts_any_input && def.not_idempotent && def.async);
  EXPECT_EQ(def.validator.inputs, std::vector<std::string>{"a"});
  EXPECT_TRUE(def.validator.takes_input_types);
  EXPECT_FALSE(def.validator.takes_all);
}

TEST(Description, RefusesWhatBreaksARuleAndNamesThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"", ""},
      {"[]", "object"},
      {"{}", "description/class"},
      {R"({"class": ""})", "description/class"},
      {R"({"class": "a\nb"})", "description/class"},
      {R"({"class": 5})", "description/class"},
      {R"({"class": "X", "colour": 1})", "description/colour"},
      {R"({"class": "X", "async": "yes"})", "description/async"},
      {R"({"class": "X", "inputs": {}})", "description/inputs"},
      {R"({"class": "X", "inputs": [{"type": "INT"}]})", "X/inputs/0/name"},
      {R"({"class": "X", "inputs": [{"name": "a"}]})", "X/inputs/0/type"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "COMBO"}]})", "X/inputs/0/choices"},
      {R"({"class": "X", "inputs": [{"name": "a", "choices": []}]})", "X/inputs/0/choices"},
      {R"({"class": "X", "inputs": [{"name": "a", "choices": ["b"], "type": "INT"}]})", "X/inputs/0/type"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "INT", "section": "secret"}]})", "X/inputs/0/section"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "INT", "options": {"min": "0"}}]})", "X/inputs/0/options/min"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "INT", "options": {"min": 2, "max": 1}}]})", "X/inputs/0/options/min"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "INT", "options": {"lazy": 1}}]})", "X/inputs/0/options/lazy"},
      {R"({"class": "X", "inputs": [{"name": "a", "type": "INT"}, {"name": "a", "type": "INT"}]})", "description/inputs"},
      {R"({"class": "X", "outputs": [{"name": "a"}]})", "X/outputs/0/type"},
      {R"({"class": "X", "validates": {"inputs": ["b"]}})", "X/validates/inputs"},
  };
  for (const auto& [json, place] : cases) {
    const std::string text = refusal(json);
    EXPECT_FALSE(text.empty()) << json;
    EXPECT_NE(text.find(place), std::string::npos) << json << "\n" << text;
  }
}

TEST(Description, RefusesEveryPieceThatIsCutOff) {
  const std::string whole = R"({"class": "X", "inputs": [{"name": "a", "type": "INT", "options": {"min": 0}}], "outputs": [{"type": "INT"}]})";
  ASSERT_EQ(refusal(whole), "");
  for (size_t length = 0; length < whole.size(); ++length) EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
}

}  // namespace
}  // namespace veneer::plugins
