#include "engine/validation_error.h"

#include <algorithm>

#include "graph/json_text.h"

namespace veneer::engine {
namespace {

using graph::Json;

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : graph::dump_json(value); }

std::string join(const std::vector<std::string>& names, const char* separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

// What the input accepts, out of the [type, options] pair that the error carries.
std::string allowed_of(const Json& config) {
  if (!config.is_array() || config.empty()) return {};
  if (config.at(0).is_array()) {
    std::vector<std::string> options;
    for (const Json& option : config.at(0)) options.push_back(text_of(option));
    return join(options, " | ");
  }
  std::string allowed = text_of(config.at(0));
  if (config.size() > 1 && config.at(1).is_object()) {
    if (config.at(1).contains("min")) allowed += " from " + text_of(config.at(1).at("min"));
    if (config.at(1).contains("max")) allowed += " to " + text_of(config.at(1).at("max"));
  }
  return allowed;
}

void add_fault(Error::Context& context, const Json& fault) {
  const Json& extra = fault.at("extra_info");
  if (extra.contains("input_name")) context.emplace_back("input", text_of(extra.at("input_name")));
  if (extra.contains("received_value")) context.emplace_back("value", text_of(extra.at("received_value")));
  if (extra.contains("received_type")) context.emplace_back("type", text_of(extra.at("received_type")));
  if (extra.contains("input_config")) {
    std::string allowed = allowed_of(extra.at("input_config"));
    if (!allowed.empty()) context.emplace_back("allowed", std::move(allowed));
  }
  const std::string details = text_of(fault.at("details"));
  if (!details.empty()) context.emplace_back("detail", details);
}

size_t count_faults(const Json& node_errors) {
  size_t count = 0;
  for (const auto& [id, node] : node_errors.items()) count += node.at("errors").size();
  return count;
}

}  // namespace

Error validation_error(const graph::Validation& validation) {
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
    const Json& fault = node.at("errors").front();
    Error::Context context = {{"node", id}, {"class", text_of(node.at("class_type"))}};
    add_fault(context, fault);
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
