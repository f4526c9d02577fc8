// The nodes' interfaces against those of the reference: names, types, defaults, ranges, order.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/testing/temp_directory.h"
#include "graph/object_info.h"
#include "support/read_json.h"
#include "support/test_paths.h"
#include "support/workflow_runner.h"

namespace veneer::testing {
namespace {

using graph::Json;

// Members in the order of their names, so that only content counts; 8 and 8.0 stay apart.
std::string canonical(const Json& value) { return nlohmann::json::parse(value.dump()).dump(1); }

constexpr const char* kFiles = "<files>";

// One input as text: name, type, and the options object without what is only said to people.
Json plain_input(const std::string& name, Json type, Json options, bool from_files) {
  options.erase("tooltip");
  if (from_files) {
    EXPECT_TRUE(type.is_array()) << name;
    type = kFiles;
  }
  return Json::array({name, std::move(type), canonical(options)});
}

bool lists_files(const graph::NodeDef& def, const std::string& input) {
  return def.input(input) != nullptr && def.input(input)->options_from != nullptr;
}

// {section: [[name, type, options], ...]} of a description as it goes over the wire.
Json inputs_on_wire(const graph::NodeDef& def, const Json& info) {
  Json out = Json::object();
  for (const auto& [section, inputs] : info.at("input").items()) {
    for (const auto& [name, input] : inputs.items()) {
      if (section == "hidden") {
        out[section].push_back(Json::array({name, input.is_array() ? input.at(0) : input}));
      } else {
        out[section].push_back(plain_input(name, input.at(0), input.size() > 1 ? input.at(1) : Json::object(), lists_files(def, name)));
      }
    }
  }
  return out;
}

// The same of an entry of nodes.json.
Json inputs_wanted(const Json& entry) {
  Json out = Json::object();
  for (const auto& [section, inputs] : entry.at("inputs").items()) {
    for (const Json& input : inputs) {
      if (section == "hidden") {
        out[section].push_back(Json::array({input.at("name"), input.at("type")}));
        continue;
      }
      Json options = input;
      for (const char* member : {"name", "type", "wire_form", "options_from"}) options.erase(member);
      const bool in_type = input.value("wire_form", "") == "list";
      const bool from_files = input.contains("options_from");
      Json type = in_type ? input.value("options", Json::array()) : input.at("type");
      if (in_type) options.erase("options");
      out[section].push_back(plain_input(input.at("name"), std::move(type), std::move(options), from_files));
    }
  }
  return out;
}

Json outputs_of(const Json& info) {
  Json out = Json::array();
  for (size_t i = 0; i < info.at("output").size(); ++i) {
    out.push_back({{"name", info.at("output_name").at(i)}, {"type", info.at("output").at(i)}, {"is_list", info.at("output_is_list").at(i)}});
  }
  return out;
}

class NodeInterface : public ::testing::Test {
 protected:
  Json info(const graph::NodeDef& def) const { return graph::object_info(def, runner_.environment()); }

  formats::TempDirectory folder_;
  WorkflowRunner runner_{demo_models(), {folder_.path(), folder_.path(), folder_.path()}, DType::f32};
};

TEST_F(NodeInterface, EveryClassIsAsTheReferenceDescribesIt) {
  VENEER_NEEDS_SHARED("api/nodes.json");
  int compared = 0;
  const Json reference = read_json(shared_folder() / "api/nodes.json");
  for (const Json& entry : reference.at("nodes")) {
    const graph::NodeDef* def = runner_.registry().find(entry.at("class").get<std::string>());
    if (def == nullptr) continue;
    SCOPED_TRACE(def->class_type);
    ++compared;
    const Json got = info(*def);
    EXPECT_EQ(canonical(inputs_on_wire(*def, got)), canonical(inputs_wanted(entry)));
    EXPECT_EQ(canonical(outputs_of(got)), canonical(entry.at("outputs")));
    EXPECT_EQ(got.at("display_name"), entry.at("display_name"));
    EXPECT_EQ(got.at("category"), entry.at("category"));
    EXPECT_EQ(got.at("output_node"), entry.at("output_node"));
    EXPECT_EQ(got.at("python_module"), entry.at("module"));
    EXPECT_EQ(def->newer_schema, entry.at("schema") == "v3");
    EXPECT_EQ(def->experimental, entry.value("experimental", false));
    EXPECT_EQ(def->deprecated, entry.value("deprecated", false));
    EXPECT_EQ(def->input_is_list, entry.value("input_is_list", false));
    // Ours watch the files behind names in more classes than the reference does.
    EXPECT_EQ(Json(def->validator.inputs), entry.value("has_validator", Json::array()));
    EXPECT_TRUE(def->change_fingerprint != nullptr || !entry.value("has_change_fingerprint", false));
  }
  // All of ours but the one of this test's own.
  EXPECT_EQ(compared + 1, static_cast<int>(runner_.registry().all().size()));
}

TEST_F(NodeInterface, DescriptionsAreThoseThatTheReferenceSent) {
  VENEER_NEEDS_SHARED("api/recordings/object_info.json");
  int compared = 0;
  for (const Json& request : read_json(shared_folder() / "api/recordings/object_info.json")) {
    if (!request.at("response").contains("json")) continue;
    for (const auto& [name, recorded] : request.at("response").at("json").items()) {
      const graph::NodeDef* def = runner_.registry().find(name);
      if (def == nullptr) continue;
      SCOPED_TRACE(name);
      ++compared;
      Json got = info(*def);
      Json want = recorded;
      EXPECT_EQ(canonical(inputs_on_wire(*def, got)), canonical(inputs_on_wire(*def, want)));
      for (const char* member : {"input", "description", "output_tooltips"}) {
        got.erase(member);
        want.erase(member);
      }
      EXPECT_EQ(got.dump(1), want.dump(1)) << "members or their order";
    }
  }
  EXPECT_GE(compared, 5);
}

TEST_F(NodeInterface, TheNodesOfTheFirstReleaseAreThere) {
  for (const char* name : {"CheckpointLoaderSimple",
                           "LoraLoader",
                           "LoraLoaderModelOnly",
                           "CLIPTextEncode",
                           "CLIPSetLastLayer",
                           "VAELoader",
                           "VAEEncode",
                           "VAEDecode",
                           "VAEDecodeTiled",
                           "VAEEncodeTiled",
                           "VAEEncodeForInpaint",
                           "EmptyLatentImage",
                           "LatentUpscale",
                           "LatentUpscaleBy",
                           "LatentComposite",
                           "SetLatentNoiseMask",
                           "KSampler",
                           "KSamplerAdvanced",
                           "LoadImage",
                           "LoadImageMask",
                           "SaveImage",
                           "PreviewImage",
                           "ImageScale",
                           "ImageScaleBy",
                           "ImageInvert",
                           "EmptyImage",
                           "ImageBatch",
                           "ConditioningCombine",
                           "ConditioningAverage",
                           "ConditioningConcat",
                           "ConditioningSetArea",
                           "ConditioningSetAreaPercentage",
                           "ConditioningSetMask",
                           "ConditioningSetTimestepRange",
                           "ConditioningZeroOut",
                           "PrimitiveInt",
                           "PrimitiveFloat",
                           "PrimitiveString",
                           "PrimitiveStringMultiline",
                           "PrimitiveBoolean"}) {
    EXPECT_NE(runner_.registry().find(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace veneer::testing
