#include "graph/validation_errors.h"

#include "graph/convert_input.h"
#include "graph/python_text.h"

namespace veneer::graph {
namespace {

constexpr size_t kMaxShownOptions = 20;

// Members one by one: lists in braces are copied several times, and a workflow may have tens of thousands of faults.
Json extra_of(const std::string& input) {
  Json extra = Json::object();
  extra["input_name"] = input;
  return extra;
}

Json received_extra(const std::string& input, Json config, const Json& received) {
  Json extra = extra_of(input);
  extra["input_config"] = std::move(config);
  extra["received_value"] = received;
  return extra;
}

}  // namespace

Json error_object(std::string type, std::string message, std::string details, Json extra_info) {
  Json error = Json::object();
  error["type"] = std::move(type);
  error["message"] = std::move(message);
  error["details"] = std::move(details);
  error["extra_info"] = std::move(extra_info);
  return error;
}

Json no_prompt_error() { return error_object("no_prompt", "No prompt provided", "No prompt provided"); }

Json no_outputs_error() { return error_object("prompt_no_outputs", "Prompt has no outputs", ""); }

Json outputs_failed_error(std::string details) {
  return error_object("prompt_outputs_failed_validation", "Prompt outputs failed validation", std::move(details));
}

Json required_input_missing(const std::string& input) {
  return error_object("required_input_missing", "Required input is missing", input, extra_of(input));
}

Json bad_linked_input(const std::string& input, Json config, const Json& received) {
  return error_object("bad_linked_input", "Bad linked input, must be a length-2 list of [node_id, slot_index]", input,
                      received_extra(input, std::move(config), received));
}

Json return_type_mismatch(const std::string& input, Json config, const std::string& received_type, const std::string& input_type, const Json& link) {
  Json extra = extra_of(input);
  extra["input_config"] = std::move(config);
  extra["received_type"] = received_type;
  extra["linked_node"] = link;
  return error_object("return_type_mismatch", "Return type mismatch between linked nodes",
                      input + ", received_type(" + received_type + ") mismatch input_type(" + input_type + ")", std::move(extra));
}

Json invalid_input_type(const std::string& input, const std::string& type, Json config, const Json& received, const std::string& reason) {
  Json extra = received_extra(input, std::move(config), received);
  extra["exception_message"] = reason;
  return error_object("invalid_input_type", "Failed to convert an input value to a " + type + " value",
                      input + ", " + python_str(received) + ", " + reason, std::move(extra));
}

Json value_smaller_than_min(const InputDef& input, Json config, const Json& received) {
  return error_object("value_smaller_than_min",
                      "Value " + number_text(received, input.type) + " smaller than min of " + number_text(input.min, input.type), input.name,
                      received_extra(input.name, std::move(config), received));
}

Json value_bigger_than_max(const InputDef& input, Json config, const Json& received) {
  return error_object("value_bigger_than_max",
                      "Value " + number_text(received, input.type) + " bigger than max of " + number_text(input.max, input.type), input.name,
                      received_extra(input.name, std::move(config), received));
}

Json value_not_in_list(const std::string& input, Json config, const Json& received, const std::vector<std::string>& options) {
  const bool too_many = options.size() > kMaxShownOptions;
  const std::string list = too_many ? "(list of length " + std::to_string(options.size()) + ")" : python_repr(Json(options));
  return error_object("value_not_in_list", "Value not in list", input + ": '" + python_str(received) + "' not in " + list,
                      received_extra(input, too_many ? Json() : std::move(config), received));
}

Json custom_validation_failed(const std::string& input, const std::string& reason) {
  return error_object("custom_validation_failed", "Custom validation failed for node", reason.empty() ? input : input + " - " + reason,
                      {{"input_name", input}});
}

Json exception_during_validation(const CheckException& exception) {
  return error_object("exception_during_validation", "Exception when validating node", exception.message,
                      {{"exception_type", exception.type}, {"traceback", Json::array()}});
}

Json exception_during_inner_validation(const CheckException& exception, const std::string& input, Json config, const Json& link) {
  Json extra = {{"input_name", input}, {"input_config", std::move(config)}, {"exception_message", exception.message}};
  extra["exception_type"] = exception.type;
  extra["traceback"] = Json::array();
  extra["linked_node"] = link;
  return error_object("exception_during_inner_validation", "Exception when validating inner node", exception.message, std::move(extra));
}

}  // namespace veneer::graph
