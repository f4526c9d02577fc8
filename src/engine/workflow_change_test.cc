#include "engine/workflow_change.h"

#include <gtest/gtest.h>

namespace veneer::engine {
namespace {

using graph::Json;
using Ids = std::vector<std::string>;

Json node(const char* class_type, Json inputs) { return {{"class_type", class_type}, {"inputs", std::move(inputs)}}; }
Json link(const char* id, int slot = 0) { return Json::array({id, slot}); }

// loader -> two encoders and a sampler -> saver
Json workflow() {
  return {{"1", node("Loader", {{"name", "a"}})},
          {"2", node("Encode", {{"model", link("1", 1)}, {"text", "x"}})},
          {"3", node("Encode", {{"model", link("1", 1)}, {"text", ""}})},
          {"5", node("Sample", {{"model", link("1")}, {"positive", link("2")}, {"negative", link("3")}, {"seed", 1}})},
          {"7", node("Save", {{"images", link("5")}})}};
}

bool unchanged(const std::string& /*id*/) { return false; }

TEST(WorkflowChange, OfEqualWorkflowsKeepsAll) {
  const WorkflowChange change = compare_workflows(workflow(), workflow(), unchanged);
  EXPECT_EQ(change.node_ids, (std::map<std::string, std::string>{{"1", "1"}, {"2", "2"}, {"3", "3"}, {"5", "5"}, {"7", "7"}}));
  EXPECT_EQ(change.affected, Ids());
  EXPECT_EQ(change.kept, (Ids{"1", "2", "3", "5", "7"}));
}

TEST(WorkflowChange, FindsNodesUnderOtherIds) {
  Json now = {{"10", workflow()["1"]}, {"20", workflow()["2"]}, {"3", workflow()["3"]}, {"50", workflow()["5"]}, {"7", workflow()["7"]}};
  now["20"]["inputs"]["model"] = now["3"]["inputs"]["model"] = link("10", 1);
  now["50"]["inputs"]["model"] = link("10");
  now["50"]["inputs"]["positive"] = link("20");
  now["7"]["inputs"]["images"] = link("50");
  const WorkflowChange change = compare_workflows(workflow(), now, unchanged);
  EXPECT_EQ(change.node_ids, (std::map<std::string, std::string>{{"1", "10"}, {"2", "20"}, {"3", "3"}, {"5", "50"}, {"7", "7"}}));
  EXPECT_EQ(change.affected, Ids());
}

TEST(WorkflowChange, RunsAgainWhatChangedAndWhatIsBehindIt) {
  Json now = workflow();
  now["2"]["inputs"]["text"] = "y";
  WorkflowChange change = compare_workflows(workflow(), now, unchanged);
  EXPECT_EQ(change.affected, (Ids{"2", "5", "7"}));
  EXPECT_EQ(change.kept, (Ids{"1", "3"}));
  EXPECT_EQ(change.node_ids.at("2"), "2") << "by id and class";
  change = compare_workflows(workflow(), workflow(), [](const std::string& id) { return id == "1"; });
  EXPECT_EQ(change.affected, (Ids{"1", "2", "3", "5", "7"}));
}

TEST(WorkflowChange, PairsWhatIsLeftOnlyWhereItIsPlain) {
  Json now = workflow();
  now.erase("5");
  now["55"] = workflow()["5"];
  now["55"]["inputs"]["seed"] = 2;
  now["7"]["inputs"]["images"] = link("55");
  EXPECT_EQ(compare_workflows(workflow(), now, unchanged).node_ids.at("5"), "55") << "the only sampler";
  now["56"] = now["55"];
  now["56"]["inputs"]["seed"] = 3;
  EXPECT_FALSE(compare_workflows(workflow(), now, unchanged).node_ids.contains("5")) << "which of two it became nobody knows";
}

TEST(WorkflowChange, TakesEqualNodesOneByOne) {
  Json before = {{"a", node("Empty", Json::object())}, {"b", node("Empty", Json::object())}};
  Json now = {{"c", node("Empty", Json::object())}, {"b", node("Empty", Json::object())}};
  EXPECT_EQ(compare_workflows(before, now, unchanged).node_ids, (std::map<std::string, std::string>{{"a", "c"}, {"b", "b"}}));
}

TEST(WorkflowChange, IsNotHurtByCyclesAndByWhatIsNoWorkflow) {
  const Json cycle = {{"1", node("A", {{"in", link("2")}})}, {"2", node("A", {{"in", link("1")}})}, {"3", 5}, {"4", {{"inputs", Json::array()}}}};
  const WorkflowChange change = compare_workflows(cycle, cycle, unchanged);
  EXPECT_EQ(change.node_ids.size(), 4U);
  EXPECT_EQ(compare_workflows(nullptr, workflow(), unchanged).affected.size(), 5U);
  EXPECT_EQ(compare_workflows(workflow(), Json::array(), unchanged).node_ids.size(), 0U);
}

TEST(WorkflowChange, WalksLongChains) {
  Json chain = {{"0", node("A", Json::object())}};
  for (int i = 1; i < 4'000; ++i) chain[std::to_string(i)] = node("A", {{"in", link(std::to_string(i - 1).c_str())}});
  Json changed = chain;
  changed["0"]["inputs"]["x"] = 1;
  EXPECT_EQ(compare_workflows(chain, changed, unchanged).affected.size(), 4'000U);
}

}  // namespace
}  // namespace veneer::engine
