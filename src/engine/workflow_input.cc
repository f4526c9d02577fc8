#include "engine/workflow_input.h"

#include <span>
#include <vector>

#include "formats/png.h"
#include "graph/json_text.h"
#include "graph/prompt.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

// In a picture the prompt is one text chunk, and every other chunk that holds JSON was a member of extra_pnginfo.
WorkflowInput read_picture(std::span<const std::byte> bytes) {
  const formats::ImageBytes image = formats::decode_png(bytes, "workflow picture");
  const std::string* prompt = image.find_text("prompt");
  if (prompt == nullptr) {
    throw Error(ErrorCode::invalid, "workflow: the picture carries no recipe", {{"want", "a text chunk called 'prompt', as SaveImage writes it"}});
  }
  WorkflowInput out{graph::parse_json(*prompt), nullptr};
  for (const auto& [key, text] : image.text) {
    if (key == "prompt") continue;
    try {
      Json value = graph::parse_json(text);
      if (out.extra_pnginfo.is_null()) out.extra_pnginfo = Json::object();
      out.extra_pnginfo[key] = std::move(value);
    } catch (const Error&) {
      continue;  // another program's remark, no part of the recipe
    }
  }
  return out;
}

void refuse_editor_form(const Json& json) {
  if (!graph::is_editor_workflow(json)) return;
  throw Error(ErrorCode::unsupported, "workflow: this is the form that the editor saves, which cannot be run as it is",
              {{"want", "API format: in the editor choose Workflow > Export (API)"}});
}

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Json value_of(const std::string& text) {
  try {
    return graph::parse_json(text);
  } catch (const Error&) {
    return text;
  }
}

bool is_link(const Json& value) { return graph::as_link(value).has_value(); }

void require_input(const Json& node, const std::string& id, const std::string& input, const graph::NodeRegistry& registry) {
  const std::string class_type = node.contains("class_type") && node.at("class_type").is_string() ? node.at("class_type").get<std::string>() : "";
  const graph::NodeDef* def = registry.find(class_type);
  if (def == nullptr || node.at("inputs").contains(input)) return;
  std::vector<std::string> known;
  for (const graph::InputDef& declared : def->inputs) {
    if (declared.section == graph::InputSection::hidden) continue;
    if (declared.name == input) return;
    known.push_back(declared.name);
  }
  throw Error(ErrorCode::invalid, "set: the node has no such input",
              {{"node", id}, {"class", class_type}, {"input", input}, {"inputs", join(known)}});
}

void set_input(Json& prompt, const std::string& target, const std::string& text, const graph::NodeRegistry& registry) {
  const size_t dot = target.rfind('.');
  const std::string node = target.substr(0, dot);
  const std::string input = dot == std::string::npos ? "" : target.substr(dot + 1);
  const auto it = prompt.find(node);
  if (input.empty() || it == prompt.end() || !it->is_object() || !it->contains("inputs") || !it->at("inputs").is_object()) {
    std::vector<std::string> known;
    for (const auto& [id, unused] : prompt.items()) known.push_back(id);
    throw Error(ErrorCode::invalid, "set: the workflow has no such node", {{"node", node}, {"nodes", join(known)}});
  }
  require_input(*it, node, input, registry);
  Json& inputs = it->at("inputs");
  // A text stays a text where the workflow has one: a prompt of digits is no number.
  const bool is_text = inputs.contains(input) && inputs.at(input).is_string();
  inputs[input] = is_text ? Json(text) : value_of(text);
}

void set_seed(Json& prompt, uint64_t seed) {
  bool found = false;
  for (auto& [id, node] : prompt.items()) {
    if (!node.is_object() || !node.contains("inputs") || !node.at("inputs").is_object()) continue;
    for (const char* name : {"seed", "noise_seed"}) {
      const auto input = node.at("inputs").find(name);
      if (input == node.at("inputs").end() || is_link(*input)) continue;
      *input = seed;
      found = true;
    }
  }
  if (!found) throw Error(ErrorCode::invalid, "seed: the workflow has no input called seed or noise_seed");
}

}  // namespace

WorkflowInput read_workflow(std::string_view bytes) {
  const std::span<const std::byte> raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
  WorkflowInput out;
  if (formats::is_png(raw)) {
    out = read_picture(raw);
  } else {
    Json json = graph::parse_json(bytes);
    const bool wrapped = json.is_object() && json.contains("prompt") && json.at("prompt").is_object() && !json.at("prompt").contains("class_type");
    if (wrapped) {
      if (json.contains("extra_data") && json.at("extra_data").is_object()) out.extra_pnginfo = json.at("extra_data").value("extra_pnginfo", Json());
      out.prompt = std::move(json.at("prompt"));
    } else {
      out.prompt = std::move(json);
    }
  }
  refuse_editor_form(out.prompt);
  if (!out.prompt.is_object() || out.prompt.empty()) {
    throw Error(ErrorCode::invalid, "workflow: not a workflow in API format",
                {{"want", "an object of nodes: {\"1\": {\"class_type\": ..., \"inputs\": {...}}}"}});
  }
  return out;
}

void apply_overrides(Json& prompt, const JobOptions& options, const graph::NodeRegistry& registry) {
  for (const auto& [target, text] : options.set) set_input(prompt, target, text, registry);
  if (options.seed) set_seed(prompt, *options.seed);
}

}  // namespace veneer::engine
