#include "graph/editor/convert_editor.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

NodeDef node(std::string name, std::vector<InputDef> inputs, std::vector<std::string> outputs) {
  NodeDef def;
  def.class_type = std::move(name);
  def.inputs = std::move(inputs);
  for (std::string& type : outputs) def.outputs.push_back({"", std::move(type), false, ""});
  def.run = [](NodeContext&, const Inputs&) { return NodeResult{}; };
  return def;
}

NodeRegistry registry() {
  NodeRegistry all;
  all.add(node("Load", {InputDef::choice("file", {"a", "b"})}, {"MODEL"}));
  all.add(node("Lora", {InputDef::socket("model", "MODEL"), InputDef::text("name")}, {"MODEL"}));
  all.add(node("Sample",
               {InputDef::socket("model", "MODEL"), InputDef::seed("seed"), InputDef::integer("steps", 20, 1, 100), InputDef::number("cfg", 7, 0, 30),
                InputDef::socket("mask", "MASK").as_optional(), InputDef::boolean("flag", true).as_optional()},
               {"IMAGE"}));
  all.add(node("Open", {InputDef::choice("image", {"x.png"}).as_image_upload(), InputDef::choice("channel", {"red", "green"})}, {"IMAGE"}));
  all.add(node("Save", {InputDef::socket("images", "IMAGE"), InputDef::text("prefix", "out")}, {}));
  return all;
}

EditorConversion convert(const char* text) { return convert_editor_workflow(parse_json(text), registry()); }
std::string inputs_of(const EditorConversion& conversion, const char* id) { return dump_json(conversion.prompt.at(id).at("inputs")); }
std::string thrown(const char* text) {
  try {
    convert(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid);
    return error.what();
  }
  return "nothing";
}

constexpr const char* kChain = R"({"nodes": [
  {"id": 1, "type": "Load", "outputs": [{"type": "MODEL"}], "widgets_values": ["b"]},
  {"id": 2, "type": "Sample", "title": "mine", "inputs": [{"name": "model", "type": "MODEL", "link": 7}], "outputs": [{"type": "IMAGE"}],
   "widgets_values": [5, "randomize", 12, 3.5, false]},
  {"id": 3, "type": "Save", "inputs": [{"name": "images", "type": "IMAGE", "link": 8}], "widgets_values": ["p"]},
  {"id": 4, "type": "MarkdownNote", "widgets_values": ["read me"]}],
  "links": [[7, 1, 0, 2, 0, "MODEL"], null, {"id": 8, "origin_id": 2, "origin_slot": 0, "target_id": 3, "target_slot": 0, "type": "IMAGE"}],
  "groups": [{"title": "a group"}], "version": 0.4})";

TEST(ConvertEditor, NamesValuesByTheClassAndFollowsLinksOfBothForms) {
  const EditorConversion out = convert(kChain);
  EXPECT_TRUE(out.complete());
  EXPECT_TRUE(out.remarks.empty());
  EXPECT_EQ(out.prompt.size(), 3U);
  EXPECT_EQ(inputs_of(out, "1"), R"({"file": "b"})");
  EXPECT_EQ(inputs_of(out, "2"), R"({"seed": 5, "steps": 12, "cfg": 3.5, "flag": false, "model": ["1", 0]})");
  EXPECT_EQ(inputs_of(out, "3"), R"({"prefix": "p", "images": ["2", 0]})");
  EXPECT_EQ(out.prompt.at("2").at("_meta").at("title"), "mine");
  EXPECT_EQ(out.prompt.at("3").at("_meta").at("title"), "Save");
}

TEST(ConvertEditor, TakesValuesByNameWhereTheFileHasThem) {
  const EditorConversion out = convert(R"({"nodes": [
    {"id": 1, "type": "Load", "widgets_values": {"file": "a", "preview": {}}},
    {"id": 2, "type": "Load", "widgets_values": ["b"], "widgets_values_named": {"file": "a"}}], "links": []})");
  EXPECT_EQ(inputs_of(out, "1"), R"({"file": "a"})");
  EXPECT_EQ(inputs_of(out, "2"), R"({"file": "a"})");
  ASSERT_EQ(out.remarks.size(), 1U);
  EXPECT_EQ(out.remarks[0].input, "preview");
  EXPECT_EQ(out.remarks[0].rule, "unmapped_values");
}

TEST(ConvertEditor, SeedsOfOldFilesHaveNoControlBehindThem) {
  const EditorConversion out = convert(R"({"nodes": [{"id": 1, "type": "Sample", "widgets_values": [5, 12, 3.5]}], "links": []})");
  EXPECT_EQ(inputs_of(out, "1"), R"({"seed": 5, "steps": 12, "cfg": 3.5, "flag": true})");
}

TEST(ConvertEditor, TheUploadButtonIsNoInput) {
  const EditorConversion out = convert(R"({"nodes": [{"id": 1, "type": "Open", "widgets_values": ["x.png", "green", "image"]}], "links": []})");
  EXPECT_EQ(inputs_of(out, "1"), R"({"image": "x.png", "channel": "green"})");
  EXPECT_TRUE(out.complete());
}

TEST(ConvertEditor, MissingValuesAreDefaultsAndSurplusOnesAreTold) {
  const EditorConversion out = convert(R"({"nodes": [{"id": 1, "type": "Load", "widgets_values": []},
                                                      {"id": 2, "type": "Load", "widgets_values": ["a", 5, 6]}], "links": []})");
  EXPECT_EQ(inputs_of(out, "1"), R"({"file": "a"})");
  ASSERT_EQ(out.remarks.size(), 2U);
  EXPECT_EQ(out.remarks[0].rule, "default_used");
  EXPECT_EQ(out.remarks[0].input, "file");
  EXPECT_EQ(out.remarks[1].rule, "unmapped_values");
  EXPECT_EQ(out.remarks[1].node, "2");
  EXPECT_FALSE(out.complete());
}

TEST(ConvertEditor, ReroutesAndPrimitivesVanishAndWidgetsBecomeInputs) {
  const EditorConversion out = convert(R"({"nodes": [
    {"id": 1, "type": "Load", "outputs": [{"type": "MODEL"}], "widgets_values": ["a"]},
    {"id": 2, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 1}], "outputs": [{"type": "MODEL"}]},
    {"id": 3, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 2}], "outputs": [{"type": "MODEL"}]},
    {"id": 4, "type": "PrimitiveNode", "outputs": [{"type": "INT", "widget": {"name": "steps"}}], "widgets_values": [33, "fixed"]},
    {"id": 5, "type": "Sample", "inputs": [{"name": "model", "type": "MODEL", "link": 3},
      {"name": "steps", "type": "INT", "widget": {"name": "steps"}, "link": 4}], "widgets_values": [5, "fixed", 12, 3.5, true]}],
    "links": [[1, 1, 0, 2, 0, "*"], [2, 2, 0, 3, 0, "*"], [3, 3, 0, 5, 0, "MODEL"], [4, 4, 0, 5, 1, "INT"]]})");
  EXPECT_EQ(out.prompt.size(), 2U);
  EXPECT_EQ(inputs_of(out, "5"), R"({"seed": 5, "cfg": 3.5, "flag": true, "model": ["1", 0], "steps": 33})");
}

TEST(ConvertEditor, BypassedNodesPassOnWhatFitsAndMutedOnesAreCutOut) {
  const EditorConversion out = convert(R"({"nodes": [
    {"id": 1, "type": "Load", "outputs": [{"type": "MODEL"}], "widgets_values": ["a"]},
    {"id": 2, "type": "Lora", "mode": 4, "inputs": [{"name": "model", "type": "MODEL", "link": 1}], "outputs": [{"type": "MODEL"}]},
    {"id": 3, "type": "Sample", "inputs": [{"name": "model", "type": "MODEL", "link": 2}], "outputs": [{"type": "IMAGE"}],
     "widgets_values": [5, "fixed", 12, 3.5, true]},
    {"id": 4, "type": "Open", "mode": 2, "outputs": [{"type": "IMAGE"}], "widgets_values": ["x.png", "red"]},
    {"id": 5, "type": "Save", "inputs": [{"name": "images", "type": "IMAGE", "link": 3}], "widgets_values": ["p"]}],
    "links": [[1, 1, 0, 2, 0, "MODEL"], [2, 2, 0, 3, 0, "MODEL"], [3, 4, 0, 5, 0, "IMAGE"]]})");
  EXPECT_EQ(out.prompt.size(), 3U);
  EXPECT_EQ(out.prompt.at("3").at("inputs").at("model"), Json::array({"1", 0}));
  EXPECT_EQ(inputs_of(out, "5"), R"({"prefix": "p"})");
  ASSERT_EQ(out.remarks.size(), 1U);
  EXPECT_EQ(out.remarks[0].rule, "no_source");
  EXPECT_NE(out.remarks[0].text.find("muted"), std::string::npos);
}

// Two instances of one subgraph inside of which another one is: ids, links in and out, promoted values of both forms.
constexpr const char* kNested = R"({"nodes": [
  {"id": 1, "type": "Load", "outputs": [{"type": "MODEL"}], "widgets_values": ["a"]},
  {"id": 5, "type": "outer", "inputs": [{"name": "m", "type": "MODEL", "link": 1}], "outputs": [{"type": "IMAGE"}], "widgets_values": [77]},
  {"id": 6, "type": "outer", "inputs": [{"name": "m", "type": "MODEL", "link": 2}], "outputs": [{"type": "IMAGE"}], "widgets_values": [null],
   "properties": {"proxyWidgets": [["-1", "count"]]}},
  {"id": 7, "type": "Save", "inputs": [{"name": "images", "type": "IMAGE", "link": 3}], "widgets_values": ["p"]}],
  "links": [[1, 1, 0, 5, 0, "MODEL"], [2, 1, 0, 6, 0, "MODEL"], [3, 5, 0, 7, 0, "IMAGE"]],
  "definitions": {"subgraphs": [
    {"id": "outer", "name": "Outer", "inputNode": {"id": -10}, "outputNode": {"id": -20},
     "inputs": [{"name": "m", "type": "MODEL"}, {"name": "count", "type": "INT"}], "outputs": [{"name": "i", "type": "IMAGE"}],
     "nodes": [{"id": 3, "type": "inner", "inputs": [{"name": "im", "type": "MODEL", "link": 1}, {"name": "n", "type": "INT", "widget": {"name": "n"},
       "link": 2}], "outputs": [{"type": "IMAGE"}], "widgets_values": [12]}],
     "links": [{"id": 1, "origin_id": -10, "origin_slot": 0, "target_id": 3, "target_slot": 0}, {"id": 2, "origin_id": -10, "origin_slot": 1,
       "target_id": 3, "target_slot": 1}, {"id": 3, "origin_id": 3, "origin_slot": 0, "target_id": -20, "target_slot": 0}]},
    {"id": "inner", "name": "Inner", "inputs": [{"name": "im", "type": "MODEL"}, {"name": "n", "type": "INT"}], "outputs": [{"type": "IMAGE"}],
     "nodes": [{"id": 9, "type": "Sample", "inputs": [{"name": "model", "type": "MODEL", "link": 1}, {"name": "steps", "type": "INT",
       "widget": {"name": "steps"}, "link": 2}], "outputs": [{"type": "IMAGE"}], "widgets_values": [5, "fixed", 1, 3.5, true]}],
     "links": [{"id": 1, "origin_id": -10, "origin_slot": 0, "target_id": 9, "target_slot": 0}, {"id": 2, "origin_id": -10, "origin_slot": 1,
       "target_id": 9, "target_slot": 1}, {"id": 3, "origin_id": 9, "origin_slot": 0, "target_id": -20, "target_slot": 0}]}]}})";

TEST(ConvertEditor, OpensNestedSubgraphsWithTheirPromotedWidgets) {
  const EditorConversion out = convert(kNested);
  EXPECT_TRUE(out.remarks.empty());
  EXPECT_EQ(inputs_of(out, "5:3:9"), R"({"seed": 5, "cfg": 3.5, "flag": true, "model": ["1", 0], "steps": 77})");
  EXPECT_EQ(inputs_of(out, "6:3:9"), R"({"seed": 5, "cfg": 3.5, "flag": true, "model": ["1", 0], "steps": 12})");
  EXPECT_EQ(out.prompt.at("7").at("inputs").at("images"), Json::array({"5:3:9", 0}));
  EXPECT_EQ(out.prompt.size(), 4U);
}

TEST(ConvertEditor, UnknownClassesKeepTheirLinksAndWhatTheFileNames) {
  const EditorConversion out = convert(R"({"nodes": [
    {"id": 1, "type": "Lod", "outputs": [{"type": "MODEL"}], "widgets_values": ["a", 3]},
    {"id": 2, "type": "Strange", "inputs": [{"name": "model", "type": "MODEL", "link": 1}, {"name": "seed", "type": "INT", "widget": {"name": "seed"},
      "link": null}, {"name": "text", "type": "STRING", "widget": {"name": "text"}}], "widgets_values": [4, "randomize", ["x", 1]]}],
    "links": [[1, 1, 0, 2, 0, "MODEL"]]})");
  EXPECT_EQ(inputs_of(out, "1"), "{}");
  EXPECT_EQ(inputs_of(out, "2"), R"({"seed": 4, "text": {"__value__": ["x", 1]}, "model": ["1", 0]})");
  ASSERT_EQ(out.remarks.size(), 3U);
  EXPECT_EQ(out.remarks[0].rule, "unknown_class");
  EXPECT_NE(out.remarks[0].text.find("Load"), std::string::npos);
  EXPECT_EQ(out.remarks[1].rule, "unmapped_values");
  EXPECT_EQ(out.remarks[2].class_type, "Strange");
}

TEST(ConvertEditor, LinksInACircleAndLinksToNothingEnd) {
  const EditorConversion out = convert(R"({"nodes": [
    {"id": 1, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 1}], "outputs": [{"type": "*"}]},
    {"id": 2, "type": "Reroute", "inputs": [{"name": "", "type": "*", "link": 2}], "outputs": [{"type": "*"}]},
    {"id": 3, "type": "Save", "inputs": [{"name": "images", "type": "IMAGE", "link": 3}], "widgets_values": ["p"]},
    {"id": 4, "type": "Save", "inputs": [{"name": "images", "type": "IMAGE", "link": 99}], "widgets_values": ["p"]}],
    "links": [[1, 2, 0, 1, 0, "*"], [2, 1, 0, 2, 0, "*"], [3, 1, 0, 3, 0, "IMAGE"]]})");
  ASSERT_EQ(out.remarks.size(), 2U);
  EXPECT_NE(out.remarks[0].text.find("circle"), std::string::npos);
  EXPECT_NE(out.remarks[1].text.find("does not exist"), std::string::npos);
}

TEST(ConvertEditor, RefusesBrokenStructuresNamingThePlace) {
  EXPECT_NE(thrown(R"({"nodes": 5, "links": []})").find("list of nodes"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [3], "links": []})").find("not an object"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [{"type": "Load"}], "links": []})").find("no id"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [{"id": 1}], "links": []})").find("no type"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [{"id": 1, "type": "a"}, {"id": 1, "type": "b"}], "links": []})").find("occurs twice"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [], "links": [[1, 2]]})").find("a link is not"), std::string::npos);
  EXPECT_NE(thrown(R"({"nodes": [], "links": [[1, 2, -1, 3, 0, "X"]]})").find("a link is not"), std::string::npos);
}

TEST(ConvertEditor, RefusesASubgraphThatContainsItself) {
  const char* text = R"({"nodes": [{"id": 1, "type": "g"}], "links": [], "definitions": {"subgraphs": [
    {"id": "g", "nodes": [{"id": 1, "type": "h"}], "links": []}, {"id": "h", "nodes": [{"id": 1, "type": "g"}], "links": []}]}})";
  EXPECT_NE(thrown(text).find("contains itself"), std::string::npos);
}

// 64 levels with two instances each would be 2^64 nodes.
TEST(ConvertEditor, RefusesSubgraphsThatWouldGrowWithoutEnd) {
  std::string text = R"({"nodes": [{"id": 1, "type": "g0"}], "links": [], "definitions": {"subgraphs": [)";
  for (int i = 0; i < 40; ++i) {
    const std::string next = "\"g" + std::to_string(i + 1) + "\"";
    text.append(R"({"id": "g)").append(std::to_string(i)).append(R"(", "links": [], "nodes": [{"id": 1, "type": )").append(next);
    text.append(R"(}, {"id": 2, "type": )").append(next).append("}]},");
  }
  text += R"({"id": "g40", "nodes": [], "links": []}]}})";
  EXPECT_NE(thrown(text.c_str()).find("too many nodes"), std::string::npos);
}

TEST(ConvertEditor, ALongChainOfReroutesWithManyReadersTakesOneStepForEach) {
  constexpr int kCount = 20'000;
  Json nodes = Json::array({{{"id", 0}, {"type", "Load"}, {"outputs", Json::array({{{"type", "MODEL"}}})}, {"widgets_values", Json::array({"a"})}}});
  Json links = Json::array();
  for (int i = 1; i <= kCount; ++i) {
    links.push_back({i, i - 1, 0, i, 0, "MODEL"});
    nodes.push_back({{"id", i},
                     {"type", "Reroute"},
                     {"inputs", Json::array({{{"name", ""}, {"type", "*"}, {"link", i}}})},
                     {"outputs", Json::array({{{"type", "*"}}})}});
  }
  for (int i = kCount + 1; i <= 2 * kCount; ++i) {
    links.push_back({i, kCount, 0, i, 0, "MODEL"});
    nodes.push_back({{"id", i},
                     {"type", "Lora"},
                     {"inputs", Json::array({{{"name", "model"}, {"type", "MODEL"}, {"link", i}}})},
                     {"widgets_values", Json::array({"x"})}});
  }
  const EditorConversion out = convert_editor_workflow(Json{{"nodes", nodes}, {"links", links}}, registry());
  EXPECT_EQ(out.prompt.size(), kCount + 1U);
  EXPECT_EQ(out.prompt.back().at("inputs").at("model"), Json::array({"0", 0}));
}

}  // namespace
}  // namespace veneer::graph
