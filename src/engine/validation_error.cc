#include "engine/validation_error.h"

#include <optional>

#include "engine/fault_details.h"

namespace veneer::engine {
namespace {

using graph::Json;

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
