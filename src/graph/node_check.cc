#include "graph/node_check.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "graph/check_ranges.h"
#include "graph/convert_input.h"
#include "graph/object_info.h"
#include "graph/python_text.h"
#include "veneer/error.h"

namespace veneer::graph {
namespace {

bool is_widget_type(std::string_view type) {
  return type == "INT" || type == "FLOAT" || type == "STRING" || type == "BOOLEAN" || type == "COMBO" || type == "*";
}

// Runs code of a node class; what it throws becomes an exception of the check.
template <typename Call>
auto guarded(Call call) {
  try {
    return call();
  } catch (const CheckException&) {
    throw;
  } catch (const Error& e) {
    throw CheckException{e.code() == ErrorCode::invalid ? "ValueError" : "RuntimeError", e.what()};
  } catch (const std::exception& e) {
    throw CheckException{"RuntimeError", e.what()};
  }
}

}  // namespace

const std::vector<std::string>& ChoiceCache::options(const InputDef& input) {
  const auto known = options_.find(&input);
  if (known != options_.end()) return known->second;
  return options_.emplace(&input, guarded([&] { return input.current_options(environment_); })).first->second;
}

Json ChoiceCache::config(const InputDef& input) {
  if (terse_) return nullptr;
  Json config = Json::array();
  if (input.is_choice() && input.choice_form == ChoiceForm::list) {
    config.push_back(options(input));
  } else {
    config.push_back(input.type);
  }
  config.push_back(guarded([&] { return wire_options(input, environment_); }));
  return config;
}

std::string ChoiceCache::type_text(const InputDef& input) {
  return input.is_choice() && input.choice_form == ChoiceForm::list ? python_repr(Json(options(input))) : input.type;
}

bool types_fit(std::string_view received, std::string_view wanted) {
  if (received == wanted || received == "*" || wanted == "*") return true;
  if (received.starts_with('[') || wanted.starts_with('[')) return false;  // lists of options fit only as a whole
  const auto each = [](std::string_view list, auto&& use) {
    while (true) {
      const size_t comma = list.find(',');
      std::string_view name = list.substr(0, comma);
      while (name.starts_with(' ')) name.remove_prefix(1);
      while (name.ends_with(' ')) name.remove_suffix(1);
      use(name);
      if (comma == std::string_view::npos) return;
      list.remove_prefix(comma + 1);
    }
  };
  bool fits = false;
  each(received, [&](std::string_view a) { each(wanted, [&](std::string_view b) { fits = fits || a == b; }); });
  return fits;
}

void NodeCheck::check_constant(const InputDef& input, const Json& given) {
  const Json value = unwrapped(given);
  if (options_.strict && refused_by_strict(input, value)) return;
  Conversion converted = convert_input(value, input.type);
  if (!converted.ok()) {
    add(invalid_input_type(input.name, input.type, choices_.config(input), value, converted.reason));
    return;
  }
  // A wrapped array stays wrapped: bare it would read as a link the next time.
  if (!value.is_array()) node_.set_input(input.name, converted.value);
  if (def_.validator.takes(input.name)) return;
  check_range(input, converted.value);
  if (input.is_choice()) check_choice(input, converted.value);
}

// What passes here runs: nodes get integers of 64 bits, and no input with a range of some takes NaN.
void NodeCheck::check_range(const InputDef& input, const Json& value) {
  const bool has_range = input.min.is_number() && input.max.is_number();
  if (value.is_number_float() && std::isnan(value.get<double>()) && has_range && !takes_nan(input)) {
    const std::string allowed = number_text(input.min, input.type) + " to " + number_text(input.max, input.type);
    add(invalid_input_type(input.name, input.type, choices_.config(input), value, "NaN is not within " + allowed));
  } else if (input.type == "INT" && value.is_number_float() && !has_range) {
    add(invalid_input_type(input.name, input.type, choices_.config(input), value,
                           "whole numbers are from -9223372036854775808 to 18446744073709551615"));
  } else if (compare_numbers(value, input.min) == std::partial_ordering::less) {
    add(value_smaller_than_min(input, choices_.config(input), value));
  } else if (compare_numbers(value, input.max) == std::partial_ordering::greater) {
    add(value_bigger_than_max(input, choices_.config(input), value));
  }
}

void NodeCheck::check_choice(const InputDef& input, const Json& value) {
  if (input.choice_form == ChoiceForm::combo && (!options_.strict || input.extra.contains("remote"))) return;
  const std::vector<std::string>& options = choices_.options(input);
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (std::ranges::find(options, text) != options.end()) return;
    // Names of files are written with either slash.
    const auto slash = [](char c) { return c == '\\' ? '/' : c; };
    const auto same = std::ranges::find_if(
        options, [&](const std::string& option) { return option.size() == text.size() && std::ranges::equal(option, text, {}, slash, slash); });
    if (same != options.end()) {
      node_.set_input(input.name, *same);
      return;
    }
  }
  add(value_not_in_list(input.name, choices_.config(input), value, options));
}

bool NodeCheck::refused_by_strict(const InputDef& input, const Json& value) {
  std::string reason;
  if (input.type == "INT" && value.is_number_float() && value.get<double>() != std::trunc(value.get<double>())) {
    reason = "value has a fraction";
  } else if (input.type == "BOOLEAN" && !value.is_boolean()) {
    reason = "value is neither true nor false";
  } else if (!is_widget_type(input.type) && input.type.find(',') == std::string::npos && !value.is_null()) {
    reason = "input takes a link, not a value";
  }
  if (!reason.empty()) add(invalid_input_type(input.name, input.type, choices_.config(input), value, reason));
  return !reason.empty();
}

bool NodeCheck::check_link(const InputDef& input, const Json& link, const NodeDef& source) {
  const Json& slot = link[1];
  if (!slot.is_number_integer()) {
    throw CheckException{"TypeError", "tuple indices must be integers or slices, not " + python_type(slot)};
  }
  const auto count = static_cast<int64_t>(source.outputs.size());
  const bool in_range = !(slot.is_number_unsigned() && slot.get<uint64_t>() >= static_cast<uint64_t>(count));
  const int64_t index = in_range ? slot.get<int64_t>() : count;
  if (index >= count || index < -count || (index < 0 && !options_.negative_slots)) throw CheckException{"IndexError", "tuple index out of range"};
  const std::string& received = source.outputs[static_cast<size_t>(index < 0 ? index + count : index)].type;
  received_types_[input.name] = received;
  if (def_.validator.check && def_.validator.takes_input_types) return true;
  const std::string wanted = choices_.type_text(input);
  if (types_fit(received, wanted)) return true;
  add(return_type_mismatch(input.name, choices_.config(input), received, wanted, link));
  return false;
}

void NodeCheck::check_own() {
  const NodeValidator& own = def_.validator;
  if (!own.check || node_.inputs() == nullptr) return;
  Inputs passed;
  for (const auto& [name, value] : node_.inputs()->get_ref<const Json::object_t&>()) {
    if (!own.takes(name)) continue;
    const InputDef* input = def_.input(name);
    const bool raw = input != nullptr && input->raw_link;
    if (as_link(value) && !raw) {
      passed.set(name, Value());
    } else if (input != nullptr) {
      passed.set(name, Value::json(unwrapped(value)));
    }
  }
  const NodeValidator::Answer answer =
      guarded([&] { return own.check(choices_.environment(), passed, own.takes_input_types ? received_types_ : decltype(received_types_){}); });
  if (!answer) return;
  for (const auto& [name, values] : passed.entries()) add(custom_validation_failed(name, *answer));
  if (passed.empty()) add(custom_validation_failed(node_.id, *answer));
}

}  // namespace veneer::graph
