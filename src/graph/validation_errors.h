// The error objects of validation, word for word as clients of ComfyUI know them.
#pragma once

#include <string>
#include <vector>

#include "graph/input_def.h"
#include "graph/json.h"

namespace veneer::graph {

// {"type", "message", "details", "extra_info": {}}
Json error_object(std::string type, std::string message, std::string details, Json extra_info = Json::object());

// The body of a request without a prompt.
Json no_prompt_error();
Json no_outputs_error();
// `details`: one line "message: details" per error of the output nodes themselves.
Json outputs_failed_error(std::string details);

// Errors of one input. `config` is [type, options] as in /object_info.
Json required_input_missing(const std::string& input);
Json bad_linked_input(const std::string& input, Json config, const Json& received);
Json return_type_mismatch(const std::string& input, Json config, const std::string& received_type, const std::string& input_type, const Json& link);
Json invalid_input_type(const std::string& input, const std::string& type, Json config, const Json& received, const std::string& reason);
Json value_smaller_than_min(const InputDef& input, Json config, const Json& received);
Json value_bigger_than_max(const InputDef& input, Json config, const Json& received);
Json value_not_in_list(const std::string& input, Json config, const Json& received, const std::vector<std::string>& options);
Json custom_validation_failed(const std::string& input, const std::string& reason);

// An exception while a node was checked: of an output node itself, or of the node behind `link`, which feeds `input` of the node below.
struct CheckException {
  std::string type;  // Python's name: KeyError, IndexError, ...
  std::string message;
};
Json exception_during_validation(const CheckException& exception);
Json exception_during_inner_validation(const CheckException& exception, const std::string& input, Json config, const Json& link);

}  // namespace veneer::graph
