#include "engine/fault_details.h"

#include <algorithm>
#include <iterator>

#include "graph/json_text.h"
#include "registry/nearest_names.h"

namespace veneer::engine {

using graph::Json;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : graph::dump_json(value); }

std::string join(const std::vector<std::string>& names, const char* separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

namespace {

// The outputs as "0 MODEL, 1 CLIP".
std::string outputs_of(const graph::NodeDef& def) {
  std::vector<std::string> outputs;
  for (const graph::OutputDef& output : def.outputs) outputs.push_back(std::to_string(outputs.size()) + " " + output.type);
  return outputs.empty() ? "(there is none)" : join(outputs, ", ");
}

// "cat.safetensors" -> "cat"; a dot within a word of the last path part counts as well, which does no harm to a suggestion.
std::string without_extension(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

}  // namespace

std::vector<std::string> nearest_options(const std::string& received, const std::vector<std::string>& options) {
  std::vector<std::string> nearest = registry::nearest_names(received, options);
  if (!nearest.empty()) return nearest;
  std::vector<std::string> stems;
  std::transform(options.begin(), options.end(), std::back_inserter(stems), without_extension);
  for (const std::string& stem : registry::nearest_names(without_extension(received), stems)) {
    nearest.push_back(options[static_cast<size_t>(std::find(stems.begin(), stems.end(), stem) - stems.begin())]);
  }
  return nearest;
}

std::string range_of(const graph::InputDef& input) {
  std::string range = input.type;
  if (!input.min.is_null()) range += " from " + text_of(input.min);
  if (!input.max.is_null()) range += " to " + text_of(input.max);
  return range;
}

Json value_of(const Json& extra, const graph::PromptNode* node, const std::string& input) {
  if (extra.contains("received_value")) return extra.at("received_value");
  const Json* value = node == nullptr || extra.contains("linked_node") ? nullptr : node->input(input);
  return value == nullptr || graph::as_link(*value) ? Json() : *value;
}

std::optional<BrokenLink> broken_link(const graph::PromptNode& node, const graph::NodeDef& def, const graph::Prompt& prompt,
                                      const graph::NodeRegistry& registry) {
  for (const graph::InputDef& input : def.inputs) {
    const Json* link = input.section == graph::InputSection::hidden ? nullptr : node.input(input.name);
    if (link == nullptr || !link->is_array() || link->size() != 2) continue;
    const Json& id = link->at(0);
    const graph::PromptNode* source = id.is_string() ? prompt.find(id.get_ref<const std::string&>()) : nullptr;
    if (source == nullptr) return BrokenLink{"a link leads to a node that does not exist", input.name, *link, ""};
    const graph::NodeDef* source_def = registry.find(source->class_type);
    if (source_def == nullptr) continue;
    const auto count = static_cast<int64_t>(source_def->outputs.size());
    const std::optional<graph::Link> edge = graph::as_link(*link);
    if (edge && edge->slot >= 0 && edge->slot < count) continue;
    return BrokenLink{"a link leads to an output that does not exist", input.name, *link, outputs_of(*source_def)};
  }
  return std::nullopt;
}

}  // namespace veneer::engine
