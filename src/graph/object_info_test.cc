#include "graph/object_info.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"

namespace veneer::graph {
namespace {

NodeDef described(std::string name) {
  NodeDef def;
  def.class_type = std::move(name);
  def.display_name = def.class_type;
  def.run = [](NodeContext&, const Inputs&) { return NodeResult{}; };
  return def;
}

std::string text(const NodeDef& def) { return dump_json(object_info(def, Environment())); }

TEST(ObjectInfo, DescribesAClassOfTheOlderSchema) {
  NodeDef def = described("KSampler");
  def.category = "sampling";
  def.inputs = {InputDef::socket("model", "MODEL").tip("the model"), InputDef::seed("seed"), InputDef::integer("steps", 20, 1, 10000),
                InputDef::number("cfg", 8.0, 0.0, 100.0, 0.1, 0.01), InputDef::choice("sampler_name", {"euler", "heun"})};
  def.outputs = {{"", "LATENT", false, ""}};
  EXPECT_EQ(
      text(def),
      R"({"input": {"required": {"model": ["MODEL", {"tooltip": "the model"}], "seed": ["INT", {"default": 0, "min": 0, "max": 18446744073709551615, "control_after_generate": true}], )"
      R"("steps": ["INT", {"default": 20, "min": 1, "max": 10000}], "cfg": ["FLOAT", {"default": 8.0, "min": 0.0, "max": 100.0, "step": 0.1, "round": 0.01}], )"
      R"("sampler_name": [["euler", "heun"]]}}, "input_order": {"required": ["model", "seed", "steps", "cfg", "sampler_name"]}, "output": ["LATENT"], )"
      R"("output_is_list": [false], "output_name": ["LATENT"], "name": "KSampler", "display_name": "KSampler", "description": "", "python_module": "nodes", )"
      R"("category": "sampling", "output_node": false})");
}

TEST(ObjectInfo, DescribesSectionsHiddenInputsAndFlags) {
  NodeDef def = described("SaveImage");
  def.output_node = true;
  def.experimental = true;
  def.inputs = {InputDef::socket("images", "IMAGE"), InputDef::text("filename_prefix", "ComfyUI"), InputDef::socket("hooks", "HOOKS").as_optional(),
                InputDef::hidden("prompt", "PROMPT"), InputDef::hidden("extra_pnginfo", "EXTRA_PNGINFO")};
  EXPECT_EQ(
      text(def),
      R"({"input": {"required": {"images": ["IMAGE"], "filename_prefix": ["STRING", {"default": "ComfyUI"}]}, "optional": {"hooks": ["HOOKS"]}, )"
      R"("hidden": {"prompt": "PROMPT", "extra_pnginfo": "EXTRA_PNGINFO"}}, "input_order": {"required": ["images", "filename_prefix"], "optional": ["hooks"], )"
      R"("hidden": ["prompt", "extra_pnginfo"]}, "output": [], "output_is_list": [], "output_name": [], "name": "SaveImage", "display_name": "SaveImage", )"
      R"("description": "", "python_module": "nodes", "category": "", "output_node": true, "experimental": true})");
}

TEST(ObjectInfo, DescribesAClassOfTheNewerSchema) {
  NodeDef def = described("ImageBlend");
  def.display_name.clear();
  def.newer_schema = true;
  def.module = "comfy_extras.nodes_post_processing";
  def.inputs = {InputDef::socket("image", "IMAGE"), InputDef::choice("mode", {"normal", "screen"}).as_combo().with("multiselect", false),
                InputDef::hidden("unique_id", "UNIQUE_ID")};
  def.outputs = {{"result", "IMAGE", true, ""}};
  EXPECT_EQ(
      text(def),
      R"({"input": {"required": {"image": ["IMAGE", {}], "mode": ["COMBO", {"multiselect": false, "options": ["normal", "screen"]}]}, "hidden": {"unique_id": ["UNIQUE_ID"]}}, )"
      R"("input_order": {"required": ["image", "mode"], "hidden": ["unique_id"]}, "output": ["IMAGE"], "output_is_list": [true], "output_name": ["result"], )"
      R"("name": "ImageBlend", "display_name": null, "description": "", "python_module": "comfy_extras.nodes_post_processing", "category": "", "output_node": false, )"
      R"("output_tooltips": [null], "deprecated": false, "experimental": false, "api_node": false})");
}

TEST(ObjectInfo, LeavesOutTheOptionsOfARemoteChoice) {
  NodeDef def = described("LoadImageOutput");
  def.inputs = {InputDef::choice("image", std::vector<std::string>{}).as_combo().as_image_upload().with("remote", {{"route", "/files"}})};
  const Json info = object_info(def, Environment());
  EXPECT_EQ(info["input"]["required"]["image"], Json::parse(R"(["COMBO", {"image_upload": true, "remote": {"route": "/files"}}])"));
}

TEST(ObjectInfo, AsksForOptionsAnewAndLeavesOutClassesThatFail) {
  NodeRegistry registry;
  int calls = 0;
  NodeDef good = described("Good");
  good.inputs = {InputDef::choice("file", [&](const Environment&) { return std::vector<std::string>{std::to_string(++calls)}; })};
  registry.add(std::move(good));
  NodeDef bad = described("Bad");
  bad.inputs = {InputDef::choice("file", [](const Environment&) -> std::vector<std::string> { throw Error(ErrorCode::not_found, "gone"); })};
  registry.add(std::move(bad));
  const Environment environment;
  EXPECT_EQ(object_info(registry, environment).size(), 1U);
  EXPECT_EQ(object_info(registry, environment)["Good"]["input"]["required"]["file"], Json::parse(R"([["2"]])"));
}

TEST(NodeRegistry, RefusesClassesThatCannotWork) {
  NodeRegistry registry;
  registry.add(described("A"));
  EXPECT_THROW(registry.add(described("A")), Error);
  EXPECT_THROW(registry.add(described("")), Error);
  EXPECT_THROW(registry.add([] {
    NodeDef without_run;
    without_run.class_type = "B";
    return without_run;
  }()),
               Error);
  NodeDef twice = described("C");
  twice.inputs = {InputDef::text("x"), InputDef::text("x")};
  EXPECT_THROW(registry.add(std::move(twice)), Error);
  EXPECT_EQ(registry.all().size(), 1U);
  EXPECT_THROW(registry.at("a_"), Error);
}

}  // namespace
}  // namespace veneer::graph
