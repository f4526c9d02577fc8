#include "engine/model_flow.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"

namespace veneer::engine {
namespace {

using graph::InputDef;

graph::NodeDef node(std::string name, std::vector<InputDef> inputs, std::vector<std::string> outputs) {
  graph::NodeDef def;
  def.class_type = std::move(name);
  def.inputs = std::move(inputs);
  for (std::string& type : outputs) def.outputs.push_back({"", std::move(type), false, ""});
  def.run = [](graph::NodeContext&, const graph::Inputs&) { return graph::NodeResult{}; };
  return def;
}

graph::NodeRegistry registry() {
  graph::NodeRegistry all;
  all.add(node("Load", {InputDef::text("name")}, {"MODEL", "CLIP", "VAE"}));
  all.add(node("Lora", {InputDef::socket("model", "MODEL"), InputDef::socket("clip", "CLIP"), InputDef::text("name")}, {"MODEL", "CLIP"}));
  all.add(node("Encode", {InputDef::socket("clip", "CLIP")}, {"CONDITIONING"}));
  all.add(node("Sample",
               {InputDef::socket("model", "MODEL"), InputDef::socket("positive", "CONDITIONING"), InputDef::socket("negative", "CONDITIONING")},
               {"LATENT"}));
  all.add(node("Vae", {InputDef::text("name")}, {"VAE"}));
  all.add(node("Decode", {InputDef::socket("samples", "LATENT"), InputDef::socket("vae", "VAE")}, {"IMAGE"}));
  return all;
}

LoadedFacts facts(std::string kind, std::string type, std::string family, std::string detail = "") {
  registry::ModelFacts out;
  out.type = std::move(type);
  out.family = std::move(family);
  out.detail = std::move(detail);
  return {"name", std::move(kind), "file", std::make_shared<const registry::ModelFacts>(std::move(out))};
}

constexpr const char* kPrompt = R"({
  "1": {"class_type": "Load", "inputs": {}}, "2": {"class_type": "Load", "inputs": {}},
  "l": {"class_type": "Lora", "inputs": {"model": ["1", 0], "clip": ["1", 1]}},
  "p": {"class_type": "Encode", "inputs": {"clip": ["l", 1]}}, "n": {"class_type": "Encode", "inputs": {"clip": ["2", 1]}},
  "s": {"class_type": "Sample", "inputs": {"model": ["l", 0], "positive": ["p", 0], "negative": ["n", 0]}},
  "v": {"class_type": "Vae", "inputs": {}}, "d": {"class_type": "Decode", "inputs": {"samples": ["s", 0], "vae": ["v", 0]}}})";

std::string findings(const FactsByNode& loaded) {
  std::string out;
  for (const WorkflowFinding& finding : flow_findings(graph::parse_json(kPrompt), registry(), loaded))
    out += finding.node + ":" + finding.input + " ";
  return out;
}

FactsByNode all_sd1() {
  FactsByNode loaded;
  loaded["1"] = loaded["2"] = {facts("checkpoints", "checkpoint", "sd1")};
  loaded["l"] = {facts("loras", "lora", "sd1")};
  loaded["v"] = {facts("vae", "vae", "", "4 latent channels")};
  return loaded;
}

TEST(ModelFlow, OneFamilyIsFine) { EXPECT_EQ(findings(all_sd1()), ""); }

TEST(ModelFlow, AnAdapterOfAnotherFamilyIsToldAtItsOwnInput) {
  FactsByNode loaded = all_sd1();
  loaded["l"] = {facts("loras", "lora", "sdxl")};
  EXPECT_EQ(findings(loaded), "l:name ");
}

TEST(ModelFlow, PromptsOfAnotherFamilyAreToldWhereTheyMeetTheModel) {
  FactsByNode loaded = all_sd1();
  loaded["2"] = {facts("checkpoints", "checkpoint", "sdxl")};
  EXPECT_EQ(findings(loaded), "s: ");
}

TEST(ModelFlow, AnAutoencoderWithOtherLatentsIsToldWhereItDecodes) {
  FactsByNode loaded = all_sd1();
  loaded["v"] = {facts("vae", "vae", "", "16 latent channels")};
  EXPECT_EQ(findings(loaded), "d: ");
}

TEST(ModelFlow, WhatIsNotKnownIsNotJudged) {
  FactsByNode loaded = all_sd1();
  loaded["l"] = {facts("loras", "lora", "")};
  loaded["2"] = {facts("checkpoints", "checkpoint", "")};
  loaded.erase("v");
  EXPECT_EQ(findings(loaded), "");
}

}  // namespace
}  // namespace veneer::engine
