#include "graph/object_info.h"

#include <exception>

#include "graph/python_text.h"

namespace veneer::graph {
namespace {

struct Section {
  InputSection section;
  const char* name;
};
constexpr Section kSections[] = {{InputSection::required, "required"}, {InputSection::optional, "optional"}, {InputSection::hidden, "hidden"}};

Json wire_spec(const InputDef& input, const NodeDef& def, const Environment& environment) {
  if (input.section == InputSection::hidden) return def.newer_schema ? Json::array({input.type}) : Json(input.type);
  Json spec = Json::array();
  spec.push_back(wire_type(input, environment));
  Json options = wire_options(input, environment);
  if (!options.empty() || input.always_options || def.newer_schema) spec.push_back(std::move(options));
  return spec;
}

void add_inputs(Json& info, const NodeDef& def, const Environment& environment) {
  Json input = Json::object();
  Json order = Json::object();
  for (const auto& [section, name] : kSections) {
    Json specs = Json::object();
    Json names = Json::array();
    for (const InputDef& each : def.inputs) {
      if (each.section != section) continue;
      specs[each.name] = wire_spec(each, def, environment);
      names.push_back(each.name);
    }
    if (names.empty() && section != InputSection::required) continue;
    input[name] = std::move(specs);
    order[name] = std::move(names);
  }
  info["input"] = std::move(input);
  info["input_order"] = std::move(order);
}

void add_outputs(Json& info, const NodeDef& def) {
  Json types = Json::array();
  Json lists = Json::array();
  Json names = Json::array();
  for (const OutputDef& output : def.outputs) {
    types.push_back(output.type);
    lists.push_back(output.is_list);
    names.push_back(output.name.empty() ? output.type : output.name);
  }
  info["output"] = std::move(types);
  info["output_is_list"] = std::move(lists);
  info["output_name"] = std::move(names);
}

void add_output_tooltips(Json& info, const NodeDef& def) {
  bool any = def.newer_schema;
  Json tooltips = Json::array();
  for (const OutputDef& output : def.outputs) {
    any = any || !output.tooltip.empty();
    tooltips.push_back(output.tooltip.empty() ? Json() : Json(output.tooltip));
  }
  if (any) info["output_tooltips"] = std::move(tooltips);
}

}  // namespace

Json wire_type(const InputDef& input, const Environment& environment) {
  if (!input.is_choice() || input.choice_form == ChoiceForm::combo) return input.type;
  Json options = Json::array();
  for (std::string& option : input.current_options(environment)) options.push_back(std::move(option));
  return options;
}

Json wire_options(const InputDef& input, const Environment& environment) {
  Json options = Json::object();
  const auto given = [&](const char* name, const Json& value) {
    if (!value.is_null()) options[name] = value;
  };
  const auto flag = [&](const char* name, bool on) {
    if (on) options[name] = true;
  };
  given("default", input.default_value);
  given("min", input.min);
  given("max", input.max);
  given("step", input.step);
  given("round", input.round);
  flag("multiline", input.multiline);
  flag("dynamicPrompts", input.dynamic_prompts);
  flag("control_after_generate", input.control_after_generate);
  flag("image_upload", input.image_upload);
  flag("forceInput", input.force_input);
  flag("lazy", input.lazy);
  flag("rawLink", input.raw_link);
  for (const auto& [name, value] : input.extra.get_ref<const Json::object_t&>()) options[name] = value;
  if (input.is_choice() && input.choice_form == ChoiceForm::combo && !options.contains("remote"))
    options["options"] = input.current_options(environment);
  if (!input.tooltip.empty()) options["tooltip"] = input.tooltip;
  return options;
}

std::string type_text(const InputDef& input, const Environment& environment) { return python_str(wire_type(input, environment)); }

Json object_info(const NodeDef& def, const Environment& environment) {
  Json info = Json::object();
  add_inputs(info, def, environment);
  add_outputs(info, def);
  info["name"] = def.class_type;
  info["display_name"] = def.display_name.empty() ? (def.newer_schema ? Json() : Json(def.class_type)) : Json(def.display_name);
  info["description"] = def.description;
  info["python_module"] = def.module;
  info["category"] = def.category;
  info["output_node"] = def.output_node;
  add_output_tooltips(info, def);
  if (def.deprecated || def.newer_schema) info["deprecated"] = def.deprecated;
  if (def.experimental || def.newer_schema) info["experimental"] = def.experimental;
  if (def.newer_schema) info["api_node"] = false;
  return info;
}

Json object_info(const NodeRegistry& registry, const Environment& environment) {
  Json all = Json::object();
  for (const NodeDef* def : registry.all()) {
    try {
      all[def->class_type] = object_info(*def, environment);
    } catch (const std::exception&) {
      continue;  // as documented: one class that cannot be described must not hide the others
    }
  }
  return all;
}

}  // namespace veneer::graph
