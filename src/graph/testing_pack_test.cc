#include "graph/testing_pack.h"

#include <gtest/gtest.h>

#include "graph/json_text.h"

namespace veneer::graph {
namespace {

InputDef image_input(std::string name) { return InputDef::socket(std::move(name), "IMAGE"); }
InputDef size_input(std::string name) { return InputDef::integer(std::move(name), 512, 1, 1024); }

NodeDef source(std::string name, std::vector<InputDef> inputs, std::string type, std::function<Value(NodeContext&, const Inputs&)> make) {
  NodeDef def;
  def.class_type = std::move(name);
  def.category = "testing";
  def.inputs = std::move(inputs);
  def.outputs = {{"", std::move(type), false, ""}};
  def.run = [make = std::move(make)](NodeContext& context, const Inputs& in) { return NodeResult{make(context, in)}; };
  return def;
}

NodeDef stub_image() {
  return source("StubImage",
                {InputDef::choice("content", {"WHITE", "BLACK", "NOISE"}), size_input("height"), size_input("width"),
                 InputDef::integer("batch_size", 1, 1, 1024)},
                "IMAGE", [](NodeContext& context, const Inputs& in) {
                  const std::string content = in.text("content");
                  if (content == "NOISE") return picture(1 + context.service<Counters>().noise++);
                  return picture(content == "WHITE" ? 255 : 0);
                });
}

NodeDef empty_image() {
  return source("EmptyImage",
                {InputDef::integer("width", 512, 1, 16384, 1), InputDef::integer("height", 512, 1, 16384, 1),
                 InputDef::integer("batch_size", 1, 1, 4096), InputDef::integer("color", 0, 0, 0xffffff, 1).with("display", "color")},
                "IMAGE", [](NodeContext&, const Inputs& in) { return picture(static_cast<double>(in.integer("color") & 255)); });
}

NodeDef show(std::string name, bool with_prefix) {
  NodeDef def;
  def.class_type = std::move(name);
  def.display_name = "Show";
  def.category = "image";
  def.inputs = {image_input("images")};
  if (with_prefix) def.inputs.push_back(InputDef::text("filename_prefix", "ComfyUI"));
  def.inputs.push_back(InputDef::hidden("prompt", "PROMPT"));
  def.inputs.push_back(InputDef::hidden("extra_pnginfo", "EXTRA_PNGINFO"));
  def.output_node = true;
  def.run = [](NodeContext&, const Inputs& in) {
    Json ui = {{"images", Json::array({in.get<Picture>("images").level})}};
    return NodeResult::with_ui(std::move(ui));
  };
  return def;
}

NodeDef invert() {
  return source("ImageInvert", {image_input("image")}, "IMAGE",
                [](NodeContext&, const Inputs& in) { return picture(255 - in.get<Picture>("image").level); });
}

NodeDef variadic_average() {
  NodeDef def = source("TestVariadicAverage", {image_input("input1")}, "IMAGE", [](NodeContext&, const Inputs& in) {
    double sum = 0;
    for (const auto& [name, values] : in.entries()) sum += values.front().get<Picture>().level;
    return picture(sum / static_cast<double>(in.entries().size()));
  });
  def.accepts_any_input = true;
  return def;
}

NodeDef is_changed(std::string name, std::vector<InputDef> inputs, bool uses_value) {
  NodeDef def = source(std::move(name), std::move(inputs), "IMAGE", [](NodeContext&, const Inputs& in) { return in.value("image"); });
  def.change_fingerprint = [uses_value](const Environment& environment, const Inputs& in) -> Json {
    ++environment.get<Counters>().change_questions;
    if (in.has("image")) throw Error(ErrorCode::internal, "a linked input came with a value");
    if (uses_value) return in.value("value").is_none() ? Json("none") : in.json("value");
    if (in.text_or("mode", "") == "throw") throw Error(ErrorCode::invalid, "no fingerprint today");
    return in.boolean_or("should_change", false) ? never_same() : Json(0);
  };
  return def;
}

}  // namespace

void MeetingPlace::meet(size_t parties, const CancelToken& cancel) {
  std::unique_lock lock(mutex_);
  ++present_;
  changed_.notify_all();
  while (present_ < parties) {
    cancel.check();
    changed_.wait_for(lock, std::chrono::milliseconds(5));
  }
}

std::vector<NodeDef> basic_testing_nodes() {
  std::vector<NodeDef> defs;
  defs.push_back(stub_image());
  defs.push_back(empty_image());
  defs.push_back(show("PreviewImage", false));
  defs.push_back(show("SaveImage", true));
  defs.push_back(invert());
  defs.push_back(variadic_average());
  defs.push_back(source("StubMask", {InputDef::number("value", 0.0, 0.0, 1.0)}, "MASK",
                        [](NodeContext&, const Inputs& in) { return Value::of("MASK", in.number("value")); }));
  defs.push_back(source("StubInt", {InputDef::integer("value", 0, -0xffffffffLL, 0xffffffffLL)}, "INT",
                        [](NodeContext&, const Inputs& in) { return Value::integer(in.integer("value")); }));
  defs.push_back(source("StubFloat", {InputDef::number("value", 0.0, -1e6, 1e6)}, "FLOAT",
                        [](NodeContext&, const Inputs& in) { return Value::number(in.number("value")); }));
  defs.push_back(is_changed("TestCustomIsChanged",
                            {image_input("image"), InputDef::boolean("should_change", false).as_optional(), InputDef::text("mode").as_optional()},
                            false));
  defs.push_back(is_changed("TestIsChangedWithConstants", {image_input("image"), InputDef::number("value", 0, 0, 1)}, true));
  return defs;
}

void Recorder::execution_cached(const std::string&, const std::vector<std::string>& nodes) {
  std::string text = "cached";
  for (const std::string& node : nodes) text += " " + node;
  add(std::move(text));
}

void Recorder::executing(const NodeRef& node) {
  add("executing " + node.node_id + (node.display_node_id == node.node_id ? "" : " as " + node.display_node_id));
  if (known_.insert(node.node_id).second) ran.push_back(node.node_id);
}

void Recorder::progress(const NodeRef& node, const Progress& progress) {
  add("progress " + node.node_id + " " + std::to_string(static_cast<int>(progress.value)) + "/" + std::to_string(static_cast<int>(progress.max)));
}

void Recorder::executed(const NodeRef& node, const Json& ui, bool cached) {
  add(std::string(cached ? "executed* " : "executed ") + node.node_id + " " + dump_json(ui));
}

void Recorder::node_finished(const NodeRef& node, bool cached) { add((cached ? "finished* " : "finished ") + node.node_id); }

void Recorder::execution_error(const ExecutionErrorEvent& error) {
  add("error " + error.node_id + " " + error.exception_type);
  errors.push_back(error);
}

void Recorder::execution_interrupted(const ExecutionInterruptedEvent& event) { add("interrupted " + event.node_id); }

namespace {
NodeRegistry make_registry() {
  NodeRegistry registry(basic_testing_nodes());
  for (NodeDef& def : control_testing_nodes()) registry.add(std::move(def));
  for (NodeDef& def : loop_testing_nodes()) registry.add(std::move(def));
  return registry;
}
}  // namespace

Bench::Bench(CachePolicy cache, ExecutorOptions options)
    : counters(std::make_shared<Counters>()), registry(make_registry()), executor(registry, environment, [&] {
        options.cache = cache;
        return options;
      }()) {
  environment.add<Counters>(counters);
  environment.add<MeetingPlace>(std::make_shared<MeetingPlace>());
}

ExecutionResult Bench::run(const std::string& prompt, const std::vector<std::string>& targets) { return run_json(parse_json(prompt), targets); }

ExecutionResult Bench::run_json(const Json& prompt, const std::vector<std::string>& targets) {
  ValidationOptions options;
  if (!targets.empty()) options.targets = targets;
  const Validation checked = validate_prompt(prompt, registry, environment, options);
  EXPECT_TRUE(checked.ok()) << checked.error << checked.node_errors;
  seen = Recorder();
  ExecutionRequest request;
  request.prompt_id = "p";
  request.outputs = checked.outputs;
  request.cancel = cancel;
  result = executor.run(checked.prompt, request, seen);
  return result;
}

Validation Bench::validate(const std::string& prompt, const ValidationOptions& options) const {
  return validate_prompt(parse_json(prompt), registry, environment, options);
}

std::vector<double> Bench::shown(const std::string& id) const {
  for (const UiRecord& record : result.records) {
    if (record.node_id == id) return record.ui.at("images").get<std::vector<double>>();
  }
  return {};
}

}  // namespace veneer::graph
