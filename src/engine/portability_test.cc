#include "engine/portability.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"

namespace veneer::engine {
namespace {

std::string rule_of(std::string_view text, bool is_name = true) {
  const std::optional<PathProblem> problem = path_problem(text, is_name);
  return problem ? problem->rule : "";
}

TEST(PathProblem, NamesTheRuleThatAPathBreaks) {
  EXPECT_EQ(rule_of("/home/user/models/a.safetensors"), "absolute_path");
  EXPECT_EQ(rule_of("\\\\server\\share\\a.safetensors"), "absolute_path");
  EXPECT_EQ(rule_of("D:\\models\\a.safetensors"), "drive_letter");
  EXPECT_EQ(rule_of("d:/models/a.safetensors"), "drive_letter");
  EXPECT_EQ(rule_of("~/a.safetensors"), "home_folder");
  EXPECT_EQ(rule_of("%USERPROFILE%\\a.safetensors"), "home_folder");
  EXPECT_EQ(rule_of("../a.safetensors"), "parent_folder");
  EXPECT_EQ(rule_of("sub\\..\\a.safetensors"), "parent_folder");
  EXPECT_EQ(rule_of("sub\\a.safetensors"), "backslash");
}

TEST(PathProblem, LetsPortableNamesAndOrdinaryTextsPass) {
  for (const char* name : {"a.safetensors", "sub/a.safetensors", "a..b.safetensors", "..a", "v1.5 (pruned).ckpt", ""})
    EXPECT_EQ(rule_of(name), "") << name;
  for (const char* text : {"/imagine a cat", "a\\nb", "wait .. what", "C: a drive", "1/2", "~ about"}) EXPECT_EQ(rule_of(text, false), "") << text;
}

graph::NodeRegistry registry() {
  graph::NodeDef def;
  def.class_type = "Known";
  def.inputs = {graph::InputDef::choice("file", {"a"}), graph::InputDef::multiline_text("text"), graph::InputDef::text("prefix"),
                graph::InputDef::number("f", 0, 0, 1)};
  def.run = [](graph::NodeContext&, const graph::Inputs&) { return graph::NodeResult{}; };
  return graph::NodeRegistry({def});
}

TEST(PortabilityFindings, JudgesByWhatAnInputIs) {
  const graph::Json prompt =
      graph::parse_json(R"({"1": {"class_type": "Known", "inputs": {"file": "C:\\m\\a", "text": "C:\\m\\a", "prefix": "/mnt/out/x",
    "f": NaN}}, "2": {"class_type": "Other", "inputs": {"name": "sub\\m.safetensors", "note": "a\\b", "deep": [{"py/object": "x"}]}}})");
  std::string rules;
  for (const WorkflowFinding& finding : portability_findings(prompt, registry())) {
    rules += finding.input + ":" + finding.rule + (finding.severity == WorkflowFinding::Severity::error ? "! " : " ");
  }
  EXPECT_EQ(rules, "file:drive_letter! prefix:absolute_path f:not_json! name:backslash deep:embedded_object! ");
}

}  // namespace
}  // namespace veneer::engine
