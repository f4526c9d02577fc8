#include "engine/validation_error.h"

#include <algorithm>
#include <iterator>

#include "graph/json_text.h"
#include "registry/nearest_names.h"

namespace veneer::engine {
namespace {

using graph::Json;

// Longer lists of allowed values are cut: a person does not read them, and the nearest ones are named besides.
constexpr size_t kMostAllowed = 60;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : graph::dump_json(value); }

std::string join(const std::vector<std::string>& names, const char* separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

// "cat.safetensors" -> "cat"; a dot within a word of the last path part counts as well, which does no harm to a suggestion.
std::string without_extension(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos || dot == 0 ? name : name.substr(0, dot);
}

// Extensions may be missing from the name that is asked for.
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

void add_choices(Error::Context& context, std::vector<std::string> options, const std::string& received) {
  const std::vector<std::string> nearest = nearest_options(received, options);
  if (!nearest.empty()) context.emplace_back("nearest", join(nearest, " | "));
  const size_t count = options.size();
  if (count > kMostAllowed) {
    options.resize(kMostAllowed);
    options.push_back("... (" + std::to_string(count) + " in all)");
  }
  context.emplace_back("allowed", count == 0 ? "(there is none)" : join(options, " | "));
}

std::string range_of(const graph::InputDef& input) {
  std::string range = input.type;
  if (!input.min.is_null()) range += " from " + text_of(input.min);
  if (!input.max.is_null()) range += " to " + text_of(input.max);
  return range;
}

// The value in question; null when the fault is about no value or about a link.
Json value_of(const Json& extra, const graph::PromptNode* node, const std::string& input) {
  if (extra.contains("received_value")) return extra.at("received_value");
  const Json* value = node == nullptr || extra.contains("linked_node") ? nullptr : node->input(input);
  return value == nullptr || graph::as_link(*value) ? Json() : *value;
}

void add_fault(Error::Context& context, const Json& fault, const graph::PromptNode* node, const graph::NodeDef* def,
               const graph::Environment& environment) {
  const Json& extra = fault.at("extra_info");
  const std::string name = extra.contains("input_name") ? text_of(extra.at("input_name")) : "";
  const Json value = value_of(extra, node, name);
  const std::string received = value.is_null() ? "" : text_of(value);
  if (!name.empty()) context.emplace_back("input", name);
  if (!value.is_null()) context.emplace_back("value", received);
  if (extra.contains("received_type")) context.emplace_back("type", text_of(extra.at("received_type")));
  const graph::InputDef* input = def == nullptr ? nullptr : def->input(name);
  if (input != nullptr && input->is_choice()) {
    add_choices(context, input->current_options(environment), received);
  } else if (input != nullptr) {
    context.emplace_back("allowed", range_of(*input));
  }
  // Of a value that is not allowed the details only say again what is there already.
  const std::string details = text_of(fault.at("details"));
  if (!details.empty() && details != name && fault.at("type") != "value_not_in_list") context.emplace_back("detail", details);
}

size_t count_faults(const Json& node_errors) {
  size_t count = 0;
  for (const auto& [id, node] : node_errors.items()) count += node.at("errors").size();
  return count;
}

}  // namespace

Error validation_error(const graph::Validation& validation, const graph::NodeRegistry& registry, const graph::Environment& environment) {
  if (!validation.unknown_classes.empty()) {
    const graph::UnknownClass& unknown = validation.unknown_classes.front();
    Error::Context context = {{"node", unknown.node_id}, {"class", unknown.class_type}};
    if (!unknown.nearest.empty()) context.emplace_back("nearest", join(unknown.nearest, ", "));
    return Error(ErrorCode::invalid, "the workflow uses a node class that does not exist", std::move(context));
  }
  if (!validation.cycles.empty()) {
    return Error(ErrorCode::invalid, "the workflow has a cycle", {{"nodes", join(validation.cycles.front(), " -> ")}});
  }
  for (const auto& [id, node] : validation.node_errors.items()) {
    if (node.at("errors").empty()) continue;
    const std::string class_type = text_of(node.at("class_type"));
    const Json& fault = node.at("errors").front();
    Error::Context context = {{"node", id}, {"class", class_type}};
    add_fault(context, fault, validation.prompt.find(id), registry.find(class_type), environment);
    const size_t faults = count_faults(validation.node_errors);
    if (faults > 1) context.emplace_back("further faults", std::to_string(faults - 1));
    return Error(ErrorCode::invalid, text_of(fault.at("message")), std::move(context));
  }
  Error::Context context;
  const std::string details = text_of(validation.error.at("details"));
  if (!details.empty()) context.emplace_back("detail", details);
  return Error(ErrorCode::invalid, text_of(validation.error.at("message")), std::move(context));
}

}  // namespace veneer::engine
