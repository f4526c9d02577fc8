// Feeds bytes to the JSON reader, the conversion of what the editor saves, the validation of prompts, and, if an output is valid, the executor with
// nodes that do nothing.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/editor/convert_editor.h"
#include "graph/execution_plan.h"
#include "graph/executor.h"
#include "graph/json_text.h"
#include "graph/validation.h"

namespace {

using namespace veneer::graph;

NodeDef node(const char* name, std::vector<InputDef> inputs, bool output) {
  NodeDef def;
  def.class_type = name;
  def.inputs = std::move(inputs);
  def.output_node = output;
  if (!output) def.outputs = {{"", "IMAGE", false, ""}, {"", "*", true, ""}};
  def.run = [output](NodeContext&, const Inputs&) {
    return output ? NodeResult::with_ui({{"images", Json::array({1})}}) : NodeResult{Value::integer(1), Value::list({Value::integer(2), Value()})};
  };
  return def;
}

NodeRegistry registry() {
  NodeRegistry all;
  all.add(node("A",
               {InputDef::integer("i", 1, 0, 9), InputDef::number("f", 0.5, 0, 1), InputDef::text("s"), InputDef::boolean("b"),
                InputDef::choice("c", {"x", "y"}), InputDef::socket("m", "IMAGE").as_optional(), InputDef::socket("l", "*").as_optional().as_lazy()},
               false));
  all.add(node("B", {InputDef::socket("m", "IMAGE,MASK").as_optional(), InputDef::socket("n", "*").as_optional()}, true));
  NodeDef whole = node("C", {InputDef::socket("m", "*")}, false);
  whole.input_is_list = true;
  whole.accepts_any_input = true;
  whole.check_lazy_status = [](NodeContext&, const Inputs&) { return std::vector<std::string>{"m"}; };
  all.add(std::move(whole));
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const NodeRegistry kRegistry = registry();
  const Environment environment;
  JsonLimits limits;
  limits.max_bytes = 1 << 20;
  try {
    Json json = parse_json(std::string_view(reinterpret_cast<const char*>(data), size), limits);
    dump_json(json);
    if (is_editor_workflow(json)) {
      PromptLimits few;
      few.max_nodes = 10'000;
      json = convert_editor_workflow(json, kRegistry, few).prompt;
    }
    for (const bool strict : {false, true}) {
      ValidationOptions options;
      options.strict = strict;
      const Validation checked = validate_prompt(json, kRegistry, environment, options);
      if (!checked.ok()) continue;
      if (execution_plan(checked.prompt, kRegistry, environment).size() != checked.prompt.size()) __builtin_trap();
      Executor executor(kRegistry, environment, {strict ? CachePolicy::none() : CachePolicy::classic()});
      ExecutionObserver nobody;
      ExecutionRequest request;
      request.outputs = checked.outputs;
      executor.run(checked.prompt, request, nobody);
    }
  } catch (const veneer::Error&) {
    // refused, as it should be
  }
  return 0;
}
