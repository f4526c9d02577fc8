#include "engine/workflow_input.h"

#include <gtest/gtest.h>

#include "formats/png.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

constexpr const char* kPrompt = R"({"3": {"class_type": "KSampler", "inputs": {"seed": 1, "steps": 20, "text": "a"}}})";

TEST(ReadWorkflow, TakesAPlainPromptAndAWrappedOne) {
  EXPECT_EQ(read_workflow(kPrompt, {}).prompt.at("3").at("class_type"), "KSampler");
  const std::string wrapped = std::string(R"({"prompt": )") + kPrompt + R"(, "extra_data": {"extra_pnginfo": {"workflow": {"x": 1}}}})";
  const WorkflowInput input = read_workflow(wrapped, {});
  EXPECT_TRUE(input.prompt.contains("3"));
  EXPECT_EQ(input.extra_pnginfo.at("workflow").at("x"), 1);
}

TEST(ReadWorkflow, TakesTheRecipeOutOfAPicture) {
  formats::ImageBytes image;
  image.width = image.height = 1;
  image.pixels = {1, 2, 3};
  image.text = {{"prompt", kPrompt}, {"workflow", R"({"nodes": []})"}, {"Software", "a paint program"}};
  const std::vector<std::byte> file = formats::encode_png(image);
  const WorkflowInput input = read_workflow({reinterpret_cast<const char*>(file.data()), file.size()}, {});
  EXPECT_TRUE(input.prompt.contains("3"));
  EXPECT_EQ(input.extra_pnginfo.size(), 1U);
}

TEST(ReadWorkflow, RefusesWhatIsNoPromptAndSaysWhatIsWanted) {
  for (const char* text : {"", "[]", "{}", "null", "{\"nodes\": [], \"links\": []}", "not json"})
    EXPECT_THROW(read_workflow(text, {}), Error) << text;
  formats::ImageBytes image;
  image.width = image.height = 1;
  image.pixels = {1, 2, 3};
  const std::vector<std::byte> file = formats::encode_png(image);
  EXPECT_THROW(read_workflow({reinterpret_cast<const char*>(file.data()), file.size()}, {}), Error);
}

// A class with the inputs that the prompt above sets, and one more.
graph::NodeRegistry sampler_registry() {
  graph::NodeDef def;
  def.class_type = "KSampler";
  def.inputs = {graph::InputDef::seed("seed"), graph::InputDef::integer("steps", 20, 1, 10000), graph::InputDef::number("cfg", 8, 0, 100)};
  def.run = [](graph::NodeContext&, const graph::Inputs&) { return graph::NodeResult{}; };
  return graph::NodeRegistry({def});
}

constexpr const char* kEditor = R"({"nodes": [{"id": 3, "type": "KSampler", "widgets_values": [7, "fixed", 12, 4.5]}], "links": []})";

TEST(ReadWorkflow, ConvertsTheFormOfTheEditorAndKeepsItForPictures) {
  const WorkflowInput input = read_workflow(kEditor, sampler_registry());
  EXPECT_TRUE(input.from_editor);
  EXPECT_EQ(input.prompt.at("3").at("inputs").at("steps"), 12);
  EXPECT_EQ(input.extra_pnginfo.at("workflow").at("nodes").size(), 1U);
  EXPECT_TRUE(input.remarks.empty());
}

TEST(ReadWorkflow, TakesWhatTheEditorSavedOutOfAPictureWithoutAPrompt) {
  formats::ImageBytes image;
  image.width = image.height = 1;
  image.pixels = {1, 2, 3};
  image.text = {{"workflow", kEditor}};
  const std::vector<std::byte> file = formats::encode_png(image);
  const WorkflowInput input = read_workflow({reinterpret_cast<const char*>(file.data()), file.size()}, sampler_registry());
  EXPECT_EQ(input.prompt.at("3").at("inputs").at("seed"), 7);
}

TEST(ReadWorkflow, SaysWhatOfTheEditorsFormCouldNotBeConverted) {
  const WorkflowInput input = read_workflow(R"({"nodes": [{"id": 3, "type": "KSamplr", "widgets_values": [7]}], "links": []})", sampler_registry());
  const std::vector<std::string> lines = remark_lines(input.remarks);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "node 3 (KSamplr): there is no node class of that name; the nearest is KSampler");
}

TEST(ApplyOverrides, ReplacesInputsAndKeepsTextsTexts) {
  graph::Json prompt = read_workflow(kPrompt, {}).prompt;
  apply_overrides(prompt, {.set = {{"3.steps", "30"}, {"3.text", "42"}, {"3.cfg", "5.5"}}, .seed = 18446744073709551615ULL}, sampler_registry());
  const graph::Json& inputs = prompt.at("3").at("inputs");
  EXPECT_EQ(inputs.at("steps"), 30);
  EXPECT_EQ(inputs.at("text"), "42");
  EXPECT_EQ(inputs.at("cfg"), 5.5);
  EXPECT_EQ(inputs.at("seed").get<uint64_t>(), 18446744073709551615ULL);
}

TEST(ApplyOverrides, NamesTheNodesWhenThereIsNone) {
  graph::Json prompt = read_workflow(kPrompt, {}).prompt;
  try {
    apply_overrides(prompt, {.set = {{"4.steps", "30"}}}, sampler_registry());
    FAIL() << "accepted a node that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("nodes"), "3");
  }
}

TEST(ApplyOverrides, NamesTheInputsWhenThereIsNone) {
  graph::Json prompt = read_workflow(kPrompt, {}).prompt;
  try {
    apply_overrides(prompt, {.set = {{"3.stepz", "30"}}}, sampler_registry());
    FAIL() << "accepted an input that does not exist";
  } catch (const Error& error) {
    EXPECT_EQ(error.find("input"), "stepz");
    EXPECT_EQ(error.find("inputs"), "seed, steps, cfg");
  }
  EXPECT_NO_THROW(apply_overrides(prompt, {.set = {{"3.stepz", "30"}}}, graph::NodeRegistry()));
}

TEST(ApplyOverrides, RefusesASeedForAWorkflowWithoutOne) {
  graph::Json prompt = read_workflow(R"({"1": {"class_type": "EmptyImage", "inputs": {"seed": ["2", 0]}}})", {}).prompt;
  EXPECT_THROW(apply_overrides(prompt, {.seed = 1}, sampler_registry()), Error);
}

}  // namespace
}  // namespace veneer::engine
