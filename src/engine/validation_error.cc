#include "engine/validation_error.h"

#include <algorithm>
#include <iterator>
#include <optional>

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

struct BrokenLink {
  std::string text, input;
  Json link;
  std::string outputs;  // what the node behind the link has; empty: there is no such node
};

// The outputs as "0 MODEL, 1 CLIP".
std::string outputs_of(const graph::NodeDef& def) {
  std::vector<std::string> outputs;
  for (const graph::OutputDef& output : def.outputs) outputs.push_back(std::to_string(outputs.size()) + " " + output.type);
  return outputs.empty() ? "(there is none)" : join(outputs, ", ");
}

// The link to nothing among the inputs of a node whose check ended with an exception. The fault does not have it: its input and link are those by
// which the check came to the node.
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

// An exception's words are Python's ("tuple index out of range"); these are for people.
Error exception_error(Error::Context context, const Json& fault, const std::optional<BrokenLink>& broken) {
  if (!broken) {
    context.emplace_back("detail", text_of(fault.at("details")));
    return Error(ErrorCode::invalid, "the inputs of the node cannot be checked", std::move(context));
  }
  context.emplace_back("input", broken->input);
  context.emplace_back("link", text_of(broken->link));
  if (!broken->outputs.empty()) context.emplace_back("outputs", broken->outputs);
  return Error(ErrorCode::invalid, broken->text, std::move(context));
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
    const graph::PromptNode* prompt_node = validation.prompt.find(id);
    const graph::NodeDef* def = registry.find(class_type);
    const size_t faults = count_faults(validation.node_errors);
    const auto counted = [&](const Error& error) { return faults > 1 ? error.with("further faults", std::to_string(faults - 1)) : error; };
    if (fault.at("type") == "exception_during_inner_validation" || fault.at("type") == "exception_during_validation") {
      const bool known = prompt_node != nullptr && def != nullptr;
      return counted(exception_error(std::move(context), fault, known ? broken_link(*prompt_node, *def, validation.prompt, registry) : std::nullopt));
    }
    add_fault(context, fault, prompt_node, def, environment);
    return counted(Error(ErrorCode::invalid, text_of(fault.at("message")), std::move(context)));
  }
  Error::Context context;
  const std::string details = text_of(validation.error.at("details"));
  if (!details.empty()) context.emplace_back("detail", details);
  return Error(ErrorCode::invalid, text_of(validation.error.at("message")), std::move(context));
}

}  // namespace veneer::engine
