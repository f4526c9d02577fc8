#include "engine/workflow_input.h"

#include <span>
#include <utility>

#include "formats/png.h"
#include "graph/editor/convert_editor.h"
#include "graph/json_text.h"
#include "graph/prompt.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

// In a picture the prompt is one text chunk, and every other chunk that holds JSON was a member of extra_pnginfo.
WorkflowInput read_picture(std::span<const std::byte> bytes) {
  const formats::ImageBytes image = formats::decode_png(bytes, "workflow picture");
  WorkflowInput out;
  const std::string* prompt = image.find_text("prompt");
  const std::string* workflow = image.find_text("workflow");
  if (prompt != nullptr) {
    out.prompt = graph::parse_json(*prompt);
  } else if (workflow != nullptr) {
    out.prompt = graph::parse_json(*workflow);
  } else {
    throw Error(ErrorCode::invalid, "workflow: the picture carries no recipe",
                {{"want", "a text chunk called 'prompt' or 'workflow', as SaveImage writes them"}});
  }
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

// The pictures that come out carry what the editor saved, so that it can be opened there again.
void convert_editor_form(WorkflowInput& input, const graph::NodeRegistry& registry) {
  if (!graph::is_editor_workflow(input.prompt)) return;
  graph::EditorConversion converted = graph::convert_editor_workflow(input.prompt, registry);
  if (!input.extra_pnginfo.is_object()) input.extra_pnginfo = Json::object();
  input.extra_pnginfo["workflow"] = std::move(input.prompt);
  input.prompt = std::move(converted.prompt);
  input.remarks = std::move(converted.remarks);
  input.from_editor = true;
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

WorkflowInput read_workflow(std::string_view bytes, const graph::NodeRegistry& registry) {
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
  convert_editor_form(out, registry);
  if (!out.prompt.is_object() || out.prompt.empty()) {
    throw Error(ErrorCode::invalid, out.from_editor ? "workflow: there is no node in it that runs" : "workflow: not a workflow in API format",
                {{"want", "an object of nodes: {\"1\": {\"class_type\": ..., \"inputs\": {...}}}"}});
  }
  return out;
}

std::vector<std::string> remark_lines(const std::vector<graph::EditorRemark>& remarks) {
  std::vector<std::string> lines;
  lines.reserve(remarks.size());
  for (const graph::EditorRemark& remark : remarks) {
    lines.push_back("node " + remark.node + " (" + remark.class_type + ")" + (remark.input.empty() ? "" : ", input " + remark.input) + ": " +
                    remark.text);
  }
  return lines;
}

void apply_overrides(Json& prompt, const JobOptions& options, const graph::NodeRegistry& registry) {
  for (const auto& [target, text] : options.set) set_input(prompt, target, text, registry);
  if (options.seed) set_seed(prompt, *options.seed);
}

}  // namespace veneer::engine
