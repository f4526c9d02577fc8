#include "graph/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/testing_pack.h"
#include "graph/validation_errors.h"

namespace veneer::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

NodeDef plain(std::string name, std::vector<InputDef> inputs, std::string type) {
  NodeDef def;
  def.class_type = std::move(name);
  def.inputs = std::move(inputs);
  def.outputs = {{"", std::move(type), false, ""}};
  def.run = [](NodeContext&, const Inputs&) { return NodeResult{}; };
  return def;
}

// Classes with the inputs that the recorded requests use.
class ValidationTest : public ::testing::Test {
 protected:
  ValidationTest() {
    bench.registry.add(
        plain("ImageScale",
              {InputDef::socket("image", "IMAGE"), InputDef::choice("upscale_method", {"nearest-exact", "bilinear", "area", "bicubic", "lanczos"}),
               InputDef::integer("width", 512, 0, 16384, 1)},
              "IMAGE"));
    bench.registry.add(plain("VAEDecode", {InputDef::socket("samples", "LATENT"), InputDef::socket("vae", "VAE")}, "IMAGE"));
    std::vector<std::string> many(42);
    for (size_t i = 0; i < many.size(); ++i) many[i] = std::to_string(i);
    bench.registry.add(plain("KSamplerSelect", {InputDef::choice("sampler_name", many)}, "SAMPLER"));
    bench.registry.add(
        plain("CheckpointLoaderSimple", {InputDef::choice("ckpt_name", [](const Environment&) { return std::vector<std::string>{}; })}, "MODEL"));
    bench.registry.add(plain(
        "LoraLoader", {InputDef::choice("lora_name", [](const Environment&) { return std::vector<std::string>{"sub/tiny.safetensors"}; })}, "MODEL"));
    InputDef wide = InputDef::integer("value", 0, -9223372036854775807, 9223372036854775807);
    wide.default_value = nullptr;
    wide.control_after_generate = true;
    bench.registry.add(plain("PrimitiveInt", {wide}, "INT"));
    bench.registry.add(plain("RandomNoise", {InputDef::seed("noise_seed")}, "NOISE"));
    bench.registry.add(plain("Share", {InputDef::number("share", 0.5, 0.0, 1.0)}, "FLOAT"));
    InputDef real = InputDef::socket("value", "FLOAT");
    real.min = -9223372036854775807;
    real.max = 9223372036854775807;
    bench.registry.add(plain("PrimitiveFloat", {real}, "FLOAT"));
    bench.registry.add(plain("PrimitiveString", {InputDef::text("value")}, "STRING"));
    bench.registry.add(plain("PrimitiveBoolean", {InputDef::boolean("value")}, "BOOLEAN"));
    bench.registry.add(plain("CaseConverter", {InputDef::text("string"), InputDef::choice("mode", {"UPPERCASE", "lowercase"}).as_combo()}, "STRING"));
    bench.registry.add(
        plain("Broken",
              {InputDef::choice("file", [](const Environment&) -> std::vector<std::string> { throw Error(ErrorCode::not_found, "folder is gone"); })},
              "IMAGE"));
    NodeDef load = plain("LoadImage", {InputDef::choice("image", {"in.png"}).as_image_upload()}, "IMAGE");
    load.validator.inputs = {"image"};
    load.validator.check = [](const Environment&, const Inputs& in, const auto&) -> NodeValidator::Answer {
      return "Invalid image file: " + in.text("image");
    };
    bench.registry.add(std::move(load));
  }

  // A prompt in which node 1 feeds a PreviewAny.
  static std::string previewed(const std::string& node) {
    return R"({"1": )" + node + R"(, "2": {"class_type": "PreviewAny", "inputs": {"source": ["1", 0]}}})";
  }
  // Node 1 is an EmptyImage, node 2 the given one, node 3 saves what node 2 gives.
  static std::string saved(const std::string& node, const std::string& more = "") {
    return R"({"1": {"class_type": "EmptyImage", "inputs": {"width": 64, "height": 48, "batch_size": 1, "color": 255}}, "2": )" + node +
           R"(, "3": {"class_type": "SaveImage", "inputs": {"images": ["2", 0], "filename_prefix": "rec"}})" + more + "}";
  }
  static std::string invert(const std::string& link) { return R"({"class_type": "ImageInvert", "inputs": {"image": )" + link + "}}"; }

  // Expects all outputs to fail, `details` in the error, and one node with the one given error.
  void expect_one(const std::string& prompt, const std::string& node, const std::string& error, const std::string& outputs = R"(["2"])",
                  const std::string& details = "") {
    const Validation result = bench.validate(prompt);
    EXPECT_EQ(result.error, outputs_failed_error(details)) << result.error;
    ASSERT_EQ(result.node_errors.size(), 1U) << result.node_errors;
    const Json& entry = result.node_errors.at(node);
    EXPECT_EQ(entry.at("errors"), Json::array({Json::parse(error)})) << entry.at("errors");
    EXPECT_EQ(entry.at("dependent_outputs"), Json::parse(outputs));
  }
  void expect_invalid_prompt(const std::string& prompt, const std::string& message, const std::string& details) {
    const Validation result = bench.validate(prompt);
    EXPECT_EQ(result.error, error_object("invalid_prompt", message, details)) << result.error;
    EXPECT_EQ(result.node_errors, Json::object());
  }

  Bench bench;
};

TEST_F(ValidationTest, RefusesBrokenStructure) {
  expect_invalid_prompt("null", "Cannot execute because the prompt is not an object of nodes.", "prompt is of type NoneType");
  expect_invalid_prompt("\"abc\"", "Cannot execute because the prompt is not an object of nodes.", "prompt is of type str");
  expect_invalid_prompt("[1]", "Cannot execute because the prompt is not an object of nodes.", "prompt is of type list");
  expect_invalid_prompt(R"({"1": 5})", "Cannot execute because a node is not an object.", "Node ID '#1'");
  expect_invalid_prompt(R"({"1": {"inputs": {}}})", "Cannot execute because a node is missing the class_type property.", "Node ID '#1'");
  expect_invalid_prompt(R"({"1": {"class_type": 7}})", "Cannot execute because the class_type property of a node is not text.", "Node ID '#1'");
  expect_invalid_prompt(R"({"nodes": [], "links": []})",
                        "Cannot execute because this is a workflow as the editor saves it, not a prompt in API format.", "members nodes and links");
}

TEST_F(ValidationTest, RefusesUnknownClassesAndSuggestsTheNearest) {
  expect_invalid_prompt(R"({"1": {"class_type": "NoSuchNode", "inputs": {}}})", "Cannot execute because node NoSuchNode does not exist.",
                        "Node ID '#1'");
  const Validation result = bench.validate(R"({"1": {"class_type": "imageinvertt"}, "2": {"class_type": "zzzzzzzzzzzzz"}})");
  ASSERT_EQ(result.unknown_classes.size(), 2U);
  EXPECT_THAT(result.unknown_classes[0].nearest, ElementsAre("ImageInvert"));
  EXPECT_THAT(result.unknown_classes[1].nearest, IsEmpty());
}

TEST_F(ValidationTest, RefusesPromptsWithoutOutputs) {
  for (const char* prompt : {"{}", "[]", R"({"1": {"class_type": "EmptyImage", "inputs": {}}})"}) {
    EXPECT_EQ(bench.validate(prompt).error, no_outputs_error()) << prompt;
  }
}

TEST_F(ValidationTest, ReportsMissingInputsOfTheOutputInTheError) {
  expect_one(R"({"1": {"class_type": "PreviewImage"}})", "1",
             R"({"type": "exception_during_validation", "message": "Exception when validating node", "details": "'inputs'",
                 "extra_info": {"exception_type": "KeyError", "traceback": []}})",
             R"(["1"])", "Exception when validating node: 'inputs'");
  expect_one(
      R"({"1": {"class_type": "PreviewImage", "inputs": []}})", "1",
      R"({"type": "required_input_missing", "message": "Required input is missing", "details": "images", "extra_info": {"input_name": "images"}})",
      R"(["1"])", "Required input is missing: images");
  const Validation two = bench.validate(saved(invert(R"(["1", 0])"), R"(, "4": {"class_type": "SaveImage", "inputs": {}})"));
  EXPECT_TRUE(two.ok());
  EXPECT_THAT(two.outputs, ElementsAre("3"));
  EXPECT_EQ(two.node_errors.at("4").at("errors").size(), 2U);
}

TEST_F(ValidationTest, ReportsMissingInputsOfInnerNodesAtTheNode) {
  expect_one(
      saved(R"({"class_type": "ImageInvert", "inputs": {}})"), "2",
      R"({"type": "required_input_missing", "message": "Required input is missing", "details": "image", "extra_info": {"input_name": "image"}})",
      R"(["3"])");
}

TEST_F(ValidationTest, ReportsValuesThatDoNotConvert) {
  const auto failed = [](const std::string& shown, const std::string& received, const std::string& reason) {
    return R"({"type": "invalid_input_type", "message": "Failed to convert an input value to a INT value", "details": "width, )" + shown + ", " +
           reason +
           R"(", "extra_info": {"input_name": "width", "input_config": ["INT", {"default": 512, "min": 1, "max": 16384, "step": 1}], "received_value": )" +
           received + R"(, "exception_message": ")" + reason + R"("}})";
  };
  const auto prompt = [](const std::string& width) {
    return R"({"1": {"class_type": "EmptyImage", "inputs": {"width": )" + width +
           R"(, "height": 48, "batch_size": 1, "color": 255}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}})";
  };
  const std::string no_number = "int() argument must be a string, a bytes-like object or a real number, not ";
  expect_one(prompt("\"abc\""), "1", failed("abc", "\"abc\"", "invalid literal for int() with base 10: 'abc'"));
  expect_one(prompt("null"), "1", failed("None", "null", no_number + "'NoneType'"));
  expect_one(prompt(R"({"a": 1})"), "1", failed("{'a': 1}", R"({"a": 1})", no_number + "'dict'"));
}

TEST_F(ValidationTest, ReportsValuesOutOfRange) {
  const auto prompt = [](const std::string& width) {
    return R"({"1": {"class_type": "EmptyImage", "inputs": {"width": )" + width +
           R"(, "height": 48, "batch_size": 1, "color": 255}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}},
           "3": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "x"}}})";
  };
  const std::string extra =
      R"("details": "width", "extra_info": {"input_name": "width", "input_config": ["INT", {"default": 512, "min": 1, "max": 16384, "step": 1}],)";
  expect_one(prompt("0"), "1",
             R"({"type": "value_smaller_than_min", "message": "Value 0 smaller than min of 1", )" + extra + R"("received_value": 0}})",
             R"(["2", "3"])");
  expect_one(prompt("100000"), "1",
             R"({"type": "value_bigger_than_max", "message": "Value 100000 bigger than max of 16384", )" + extra + R"("received_value": 100000}})",
             R"(["2", "3"])");
}

TEST_F(ValidationTest, ComparesHugeIntegersExactly) {
  const auto message = [&](const std::string& value) {
    const Validation result = bench.validate(previewed(R"({"class_type": "PrimitiveInt", "inputs": {"value": )" + value + "}}"));
    return result.ok() ? std::string("ok") : result.node_errors.at("1").at("errors")[0].at("message").get<std::string>();
  };
  EXPECT_EQ(message("18446744073709551615"), "Value 18446744073709551615 bigger than max of 9223372036854775807");
  EXPECT_EQ(message("1180591620717411303424"), "Value 1180591620717411303424 bigger than max of 9223372036854775807");
  EXPECT_EQ(message("9223372036854775807"), "ok");
  EXPECT_EQ(message("-9223372036854775808"), "Value -9223372036854775808 smaller than min of -9223372036854775807");
}

TEST_F(ValidationTest, SeedsBeyondTheirRangeAreRefusedAndNotRounded) {
  const auto message = [&](const std::string& value) {
    const Validation result = bench.validate(previewed(R"({"class_type": "RandomNoise", "inputs": {"noise_seed": )" + value + "}}"));
    return result.ok() ? std::string("ok") : result.node_errors.at("1").at("errors")[0].at("message").get<std::string>();
  };
  EXPECT_EQ(message("18446744073709551615"), "ok");
  for (const char* value : {"18446744073709551616", "\"18446744073709551616\"", "18446744073709551616.0", "1.8446744073709552e19"}) {
    EXPECT_EQ(message(value), "Value 18446744073709551616 bigger than max of 18446744073709551615") << value;
  }
  EXPECT_EQ(message("-1"), "Value -1 smaller than min of 0");
}

TEST_F(ValidationTest, RefusesInfinityAndNaNWhereThereIsARange) {
  const Validation infinite = bench.validate(previewed(R"({"class_type": "PrimitiveFloat", "inputs": {"value": "inf"}})"));
  EXPECT_EQ(infinite.node_errors.at("1").at("errors")[0].at("message"), "Value inf bigger than max of 9223372036854775807");
  EXPECT_TRUE(bench.validate(previewed(R"({"class_type": "PrimitiveFloat", "inputs": {"value": NaN}})")).ok()) << "a range of all numbers is none";
  const Validation undefined = bench.validate(previewed(R"({"class_type": "Share", "inputs": {"share": NaN}})"));
  ASSERT_FALSE(undefined.ok());
  EXPECT_EQ(undefined.node_errors.at("1").at("errors")[0].at("type"), "invalid_input_type");
}

TEST_F(ValidationTest, ReportsChoicesOutsideOfTheirList) {
  expect_one(saved(R"({"class_type": "ImageScale", "inputs": {"image": ["1", 0], "upscale_method": "nope", "width": 32}})"), "2",
             R"({"type": "value_not_in_list", "message": "Value not in list",
                 "details": "upscale_method: 'nope' not in ['nearest-exact', 'bilinear', 'area', 'bicubic', 'lanczos']",
                 "extra_info": {"input_name": "upscale_method", "input_config": [["nearest-exact", "bilinear", "area", "bicubic", "lanczos"], {}], "received_value": "nope"}})",
             R"(["3"])");
  expect_one(previewed(R"({"class_type": "KSamplerSelect", "inputs": {"sampler_name": "nope"}})"), "1",
             R"j({"type": "value_not_in_list", "message": "Value not in list", "details": "sampler_name: 'nope' not in (list of length 42)",
                 "extra_info": {"input_name": "sampler_name", "input_config": null, "received_value": "nope"}})j");
  expect_one(previewed(R"({"class_type": "CheckpointLoaderSimple", "inputs": {"ckpt_name": "a.safetensors"}})"), "1",
             R"({"type": "value_not_in_list", "message": "Value not in list", "details": "ckpt_name: 'a.safetensors' not in []",
                 "extra_info": {"input_name": "ckpt_name", "input_config": [[], {}], "received_value": "a.safetensors"}})");
}

TEST_F(ValidationTest, TakesEitherSlashInNamesOfFiles) {
  const Validation result = bench.validate(previewed(R"({"class_type": "LoraLoader", "inputs": {"lora_name": "sub\\tiny.safetensors"}})"));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(*result.prompt.find("1")->input("lora_name"), "sub/tiny.safetensors");
}

TEST_F(ValidationTest, ReportsLinksOfTheWrongType) {
  const Validation result = bench.validate(saved(R"({"class_type": "VAEDecode", "inputs": {"samples": ["1", 0], "vae": ["1", 0]}})"));
  const Json& errors = result.node_errors.at("2").at("errors");
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[1], Json::parse(R"j({"type": "return_type_mismatch", "message": "Return type mismatch between linked nodes",
    "details": "vae, received_type(IMAGE) mismatch input_type(VAE)",
    "extra_info": {"input_name": "vae", "input_config": ["VAE", {}], "received_type": "IMAGE", "linked_node": ["1", 0]}})j"));
}

TEST_F(ValidationTest, ReportsLinksThatAreNoPairs) {
  for (const char* link : {R"(["1", 0, 0])", R"(["1"])", "[]"}) {
    expect_one(saved(invert(link)), "2",
               R"({"type": "bad_linked_input", "message": "Bad linked input, must be a length-2 list of [node_id, slot_index]", "details": "image",
                   "extra_info": {"input_name": "image", "input_config": ["IMAGE", {}], "received_value": )" +
                   std::string(link) + "}}",
               R"(["3"])");
  }
}

TEST_F(ValidationTest, ReportsLinksThatLeadNowhereAtTheNodeThatHoldsThem) {
  const auto inner = [](const std::string& type, const std::string& text, const std::string& input = "images", const std::string& node = "2") {
    return R"({"type": "exception_during_inner_validation", "message": "Exception when validating inner node", "details": ")" + text +
           R"(", "extra_info": {"input_name": ")" + input + R"(", "input_config": ["IMAGE", {}], "exception_message": ")" + text +
           R"(", "exception_type": ")" + type + R"(", "traceback": [], "linked_node": [")" + node + R"(", 0]}})";
  };
  expect_one(saved(invert(R"(["77", 0])")), "2", inner("KeyError", "'77'"), R"(["3"])");
  expect_one(saved(invert("[1, 0]")), "2", inner("KeyError", "1"), R"(["3"])");
  expect_one(saved(invert(R"(["1", 5])")), "2", inner("IndexError", "tuple index out of range"), R"(["3"])");
  expect_one(saved(invert(R"(["1", "0"])")), "2", inner("TypeError", "tuple indices must be integers or slices, not str"), R"(["3"])");
  expect_one(saved(invert(R"(["1", 0.0])")), "2", inner("TypeError", "tuple indices must be integers or slices, not float"), R"(["3"])");
  expect_one(saved(invert(R"(["4", 0])"), R"(, "4": )" + invert(R"(["77", 0])")), "4", inner("KeyError", "'77'", "image", "4"), R"(["3"])");
}

TEST_F(ValidationTest, CountsSlotsFromTheEndOnlyWhereThatIsAskedFor) {
  const std::string last = saved(invert(R"(["1", -1])"));
  const Validation refused = bench.validate(last);
  EXPECT_EQ(refused.node_errors.at("2").at("errors")[0].at("details"), "tuple index out of range");
  ValidationOptions lenient;
  lenient.negative_slots = true;
  EXPECT_TRUE(bench.validate(last, lenient).ok());
  EXPECT_FALSE(bench.validate(saved(invert(R"(["1", -2])")), lenient).ok());
}

TEST_F(ValidationTest, RefusesCyclesWithoutNodeErrorsButNamesThem) {
  const Validation two = bench.validate(saved(invert(R"(["4", 0])"), R"(, "4": )" + invert(R"(["2", 0])")));
  EXPECT_EQ(two.error, outputs_failed_error(""));
  EXPECT_EQ(two.node_errors, Json::object());
  EXPECT_THAT(two.cycles, ElementsAre(ElementsAre("2", "4")));
  const Validation self = bench.validate(saved(invert(R"(["2", 0])")));
  EXPECT_EQ(self.error, outputs_failed_error(""));
  EXPECT_THAT(self.cycles, ElementsAre(ElementsAre("2")));
}

TEST_F(ValidationTest, DoesNotRefuseAPlainValueForASocket) { EXPECT_TRUE(bench.validate(saved(invert("\"text\""))).ok()); }

TEST_F(ValidationTest, ConvertsValuesInThePrompt) {
  const auto converted = [&](const std::string& type, const std::string& value) {
    const Validation result = bench.validate(previewed(R"({"class_type": ")" + type + R"(", "inputs": {"value": )" + value + "}}"));
    return *result.prompt.find("1")->input("value");
  };
  EXPECT_EQ(converted("PrimitiveInt", "2.9").dump(), "2");
  EXPECT_EQ(converted("PrimitiveInt", "\" 12 \"").dump(), "12");
  EXPECT_EQ(converted("PrimitiveInt", R"({"__value__": 3})").dump(), "3");
  EXPECT_EQ(converted("PrimitiveFloat", "3").dump(), "3.0");
  EXPECT_EQ(converted("PrimitiveString", "5").dump(), "\"5\"");
  EXPECT_EQ(converted("PrimitiveBoolean", "\"false\"").dump(), "true");
  EXPECT_EQ(converted("PrimitiveBoolean", "\"\"").dump(), "false");
}

TEST_F(ValidationTest, KeepsAWrappedArrayWrapped) {
  const Validation result = bench.validate(R"({"2": {"class_type": "PreviewAny", "inputs": {"source": {"__value__": ["1", 0]}}}})");
  ASSERT_TRUE(result.ok());
  Recorder seen;
  ExecutionRequest request;
  request.outputs = result.outputs;
  const ExecutionResult run = bench.executor.run(result.prompt, request, seen);
  EXPECT_EQ(run.records.at(0).ui.at("text"), Json::parse(R"([["1", 0]])"));
}

TEST_F(ValidationTest, RefusesMoreWhenStrict) {
  ValidationOptions strict;
  strict.strict = true;
  const std::string prompts[] = {previewed(R"({"class_type": "CaseConverter", "inputs": {"string": "x", "mode": "zzz"}})"),
                                 previewed(R"({"class_type": "PrimitiveInt", "inputs": {"value": 2.5}})"),
                                 previewed(R"({"class_type": "PrimitiveBoolean", "inputs": {"value": "false"}})"), saved(invert("\"text\""))};
  for (const std::string& prompt : prompts) {
    EXPECT_TRUE(bench.validate(prompt).ok()) << prompt;
    EXPECT_FALSE(bench.validate(prompt, strict).ok()) << prompt;
  }
}

TEST_F(ValidationTest, AsksTheClassItself) {
  expect_one(
      previewed(R"({"class_type": "LoadImage", "inputs": {"image": "nope.png"}})"), "1",
      R"({"type": "custom_validation_failed", "message": "Custom validation failed for node", "details": "image - Invalid image file: nope.png",
                 "extra_info": {"input_name": "image"}})");
  const auto details = [&](const std::string& node) {
    std::vector<std::string> all;
    const Validation result = bench.validate(previewed(node));
    if (result.ok()) return all;
    for (const Json& error : result.node_errors.at("1").at("errors")) all.push_back(error.at("details"));
    return all;
  };
  EXPECT_THAT(details(R"({"class_type": "TestCustomValidation1", "inputs": {"input1": 5, "input2": 3.0}})"),
              ElementsAre("input1 - Invalid type of input1", "input2 - Invalid type of input1"));
  EXPECT_THAT(details(R"({"class_type": "TestCustomValidation1", "inputs": {"input1": 5.0, "input2": "foo"}})"),
              ElementsAre("input1 - Invalid type of input2", "input2 - Invalid type of input2"));
  EXPECT_THAT(details(R"({"class_type": "TestCustomValidation1", "inputs": {"input1": 5.0, "input2": 3.0}})"), IsEmpty());
  EXPECT_THAT(details(R"({"class_type": "TestCustomValidation5", "inputs": {"input1": 0.0, "input2": 7.0}})"),
              ElementsAre("input1 - 7s are not allowed. I've never liked 7s.", "input2 - 7s are not allowed. I've never liked 7s."));
  EXPECT_THAT(details(R"({"class_type": "TestCustomValidation5", "inputs": {"input1": 0.0, "input2": 5.0}})"), IsEmpty());  // beyond max
}

TEST_F(ValidationTest, ComparesUnionTypesAndLeavesThemToChecksThatAskForThem) {
  const auto linked = [&](const std::string& source, const std::string& type) {
    return bench.validate(
        R"({"0": )" + source + R"(, "1": {"class_type": ")" + type +
        R"(", "inputs": {"input1": ["0", 0], "input2": 3.0}}, "2": {"class_type": "PreviewImage", "inputs": {"images": ["1", 0]}}})");
  };
  const std::string float_node = R"({"class_type": "StubFloat", "inputs": {"value": 2.0}})";
  const std::string int_node = R"({"class_type": "StubInt", "inputs": {"value": 2}})";
  const std::string mask_node = R"({"class_type": "StubMask", "inputs": {"value": 0.5}})";
  EXPECT_TRUE(linked(float_node, "TestCustomValidation1").ok());
  for (const std::string& wrong : {int_node, mask_node}) {
    EXPECT_EQ(linked(wrong, "TestCustomValidation1").node_errors.at("1").at("errors")[0].at("type"), "return_type_mismatch");
    EXPECT_THAT(linked(wrong, "TestCustomValidation2").node_errors.at("1").at("errors")[0].at("details").get<std::string>(),
                HasSubstr("Invalid type of input1"));
  }
  EXPECT_TRUE(linked(float_node, "TestCustomValidation2").ok());
  EXPECT_TRUE(linked(float_node, "TestCustomValidation4").ok());
  EXPECT_FALSE(linked(int_node, "TestCustomValidation4").ok());
}

TEST_F(ValidationTest, ReportsOptionsThatCannotBeListedAtTheNode) {
  const Validation result = bench.validate(previewed(R"({"class_type": "Broken", "inputs": {"file": "x"}})"));
  EXPECT_EQ(result.node_errors.at("1").at("errors")[0].at("type"), "exception_during_inner_validation");
  EXPECT_EQ(result.node_errors.at("1").at("errors")[0].at("details"), "folder is gone");
}

TEST_F(ValidationTest, MissingLazyInputCountsAsMissing) {
  const Validation result = bench.validate(saved(R"({"class_type": "TestLazyMixImages", "inputs": {"image1": ["1", 0], "mask": ["4", 0]}})",
                                                 R"(, "4": {"class_type": "StubMask", "inputs": {"value": 0.0}})"));
  EXPECT_EQ(result.node_errors.at("2").at("errors")[0].at("details"), "image2");
}

TEST_F(ValidationTest, ChecksOnlyWhatASelectedOutputNeeds) {
  EXPECT_TRUE(bench.validate(saved(invert(R"(["1", 0])"), R"(, "9": {"class_type": "ImageInvert", "inputs": {}})")).ok());
}

TEST_F(ValidationTest, SurvivesHostilePrompts) {
  const char* prompts[] = {
      R"({"1": {"class_type": "PreviewImage", "inputs": "text"}})",
      R"({"1": {"class_type": "PreviewImage", "inputs": {"images": [["1"], 0]}}})",
      R"({"1": {"class_type": "PreviewImage", "inputs": {"images": ["1", 99999999999999999999]}}})",
      R"({"1": {"class_type": "PreviewImage", "inputs": {"images": ["1", -9223372036854775808]}}})",
      R"({"1": {"class_type": "PreviewImage", "inputs": {"images": ["1", {"a": 1}]}}})",
      R"({"": {"class_type": "", "inputs": {"": [[], []]}}})",
      R"({"1": {"class_type": "PreviewAny", "inputs": {"source": {"__value__": {"__value__": null}}}}, "2": {"class_type": "PreviewImage", "inputs": null}})"};
  for (const char* prompt : prompts) {
    const Validation result = bench.validate(prompt);
    EXPECT_TRUE(!result.ok() || !result.node_errors.empty()) << prompt;
  }
  ValidationOptions small;
  small.limits.max_nodes = 1;
  EXPECT_EQ(bench.validate(saved(invert(R"(["1", 0])")), small).error.at("type"), "invalid_prompt");
  small = {};
  small.limits.max_inputs = 1;
  EXPECT_EQ(bench.validate(saved(invert(R"(["1", 0])")), small).error.at("type"), "invalid_prompt");
}

}  // namespace
}  // namespace veneer::graph
