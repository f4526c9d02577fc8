#include "engine/prompt_embeddings.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/workflow_lock.h"
#include "formats/testing/temp_directory.h"
#include "graph/node_def.h"

namespace veneer::engine {
namespace {

graph::NodeDef node(std::string class_type, std::vector<graph::InputDef> inputs, const std::string& output) {
  graph::NodeDef def;
  def.class_type = std::move(class_type);
  def.inputs = std::move(inputs);
  def.outputs.emplace_back();
  def.outputs.back().type = output;
  def.run = [](graph::NodeContext&, const graph::Inputs&) { return graph::NodeResult{}; };
  return def;
}

graph::NodeRegistry nodes() {
  const graph::InputDef value = graph::InputDef::multiline_text("value");
  return graph::NodeRegistry({node("PrimitiveString", {value}, "STRING"), node("Join", {value}, "STRING"),
                              node("Encode", {graph::InputDef::multiline_text("text"), graph::InputDef::socket("clip", "CLIP")}, "CONDITIONING")});
}

// "NODE.INPUT MADE_BY;" of each.
std::string made(const char* prompt) {
  std::string out;
  for (const MadeText& text : made_texts(graph::Json::parse(prompt), nodes())) out += text.node + "." + text.input + " " + text.made_by + ";";
  return out;
}

TEST(MadeTexts, ConstantsAreKnownAlsoThroughNodesThatHandThemOn) {
  EXPECT_EQ(made(R"({"1":{"class_type":"PrimitiveString","inputs":{"value":"a"}},"2":{"class_type":"PrimitiveString","inputs":{"value":["1",0]}},
    "3":{"class_type":"Encode","inputs":{"text":["2",0]}},"4":{"class_type":"Encode","inputs":{"text":"b"}}})"),
            "");
}

TEST(MadeTexts, WhatANodeMakesIsNot) {
  EXPECT_EQ(made(R"({"1":{"class_type":"Join","inputs":{"value":"a"}},"2":{"class_type":"PrimitiveString","inputs":{"value":["1",0]}},
    "3":{"class_type":"Encode","inputs":{"text":["2",0]}},"4":{"class_type":"Encode","inputs":{"text":["2",0]}},
    "5":{"class_type":"Join","inputs":{"value":["1",0]}}})"),
            "3.text Join (1);4.text Join (1);");
}

TEST(MadeTexts, CirclesAndBrokenPromptsEnd) {
  EXPECT_EQ(made(R"({"1":{"class_type":"PrimitiveString","inputs":{"value":["1",0]}},"2":{"class_type":"Encode","inputs":{"text":["1",0]}},
    "3":{"class_type":"Encode","inputs":{"text":["9",0]}},"4":{"class_type":"Encode"},"5":7,"6":{"class_type":"Encode","inputs":{"text":["5",0]}}})"),
            "");
  EXPECT_EQ(made("[]"), "");
}

TEST(MadeTexts, ALockTellsThem) {
  const formats::TempDirectory folder;
  const auto folders = std::make_shared<registry::ModelFolders>(std::vector<std::filesystem::path>{folder.path()});
  registry::Library library(folders, folder.path() / "cache");
  const std::string lock = write_lock({}, {{"3", "Encode", "text", "Join (1)"}}, library, {});
  EXPECT_EQ(graph::Json::parse(lock).at("not_known").dump(), R"x([{"node":"3","input":"text","made_by":"Join (1)"}])x");
  EXPECT_TRUE(read_lock(lock).empty());
  EXPECT_FALSE(graph::Json::parse(write_lock({}, {}, library, {})).contains("not_known"));
}

}  // namespace
}  // namespace veneer::engine
