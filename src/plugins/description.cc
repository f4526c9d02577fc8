#include "plugins/description.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "graph/convert_input.h"
#include "graph/json_text.h"
#include "veneer/error.h"

namespace veneer::plugins {
namespace {

using graph::InputDef;
using graph::Json;

constexpr size_t kMaxName = 200;     // characters of the name of a class, an input or an output
constexpr size_t kMaxInputs = 1000;  // of one class

// One JSON object of the description, with its place in it for error texts.
class Members {
 public:
  Members(const Json& json, std::string where, std::initializer_list<std::string_view> known) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw wrong("", "an object");
    for (const auto& [name, value] : json.get_ref<const Json::object_t&>()) {
      if (std::ranges::find(known, name) == known.end())
        throw Error(ErrorCode::invalid, "plug-in: unknown member of a description", {{"at", where_ + "/" + name}});
    }
  }

  const Json* find(const char* name) const {
    const auto it = json_.find(name);
    return it == json_.end() ? nullptr : &*it;
  }
  bool flag(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr) return false;
    if (!value->is_boolean()) throw wrong(name, "true or false");
    return value->get<bool>();
  }
  std::string text(const char* name) const {
    const Json* value = find(name);
    if (value == nullptr) return "";
    if (!value->is_string()) throw wrong(name, "a text");
    return value->get<std::string>();
  }
  // A text that is there and fit to be a name.
  std::string name(const char* member) const {
    std::string found = text(member);
    const bool fits = !found.empty() && found.size() <= kMaxName &&
                      std::ranges::none_of(found, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
    if (!fits) throw wrong(member, "a name of 1 to 200 bytes without control characters");
    return found;
  }
  std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    const Json* value = find(name);
    if (value == nullptr) return out;
    if (!value->is_array()) throw wrong(name, "a list of texts");
    for (const Json& each : *value) {
      if (!each.is_string()) throw wrong(name, "a list of texts");
      out.push_back(each.get<std::string>());
    }
    return out;
  }
  const Json& list(const char* name) const {
    static const Json kNone = Json::array();
    const Json* value = find(name);
    if (value == nullptr) return kNone;
    if (!value->is_array() || value->size() > kMaxInputs) throw wrong(name, "a list of at most 1000 elements");
    return *value;
  }
  Error wrong(const std::string& name, const std::string& want) const {
    return {ErrorCode::invalid, "plug-in: a member of a description has to be " + want, {{"at", where_ + (name.empty() ? "" : "/" + name)}}};
  }

 private:
  const Json& json_;
  std::string where_;
};

graph::InputSection section_of(const Members& members) {
  const std::string name = members.text("section");
  if (name.empty() || name == "required") return graph::InputSection::required;
  if (name == "optional") return graph::InputSection::optional;
  if (name == "hidden") return graph::InputSection::hidden;
  throw members.wrong("section", "required, optional or hidden");
}

void set_number(Json& into, const Json& value, const Members& members, const std::string& name) {
  if (!value.is_number()) throw members.wrong("options/" + name, "a number");
  into = value;
}

void set_option(InputDef& input, const std::string& name, const Json& value, const Members& members) {
  const auto flag = [&](bool& into) {
    if (!value.is_boolean()) throw members.wrong("options/" + name, "true or false");
    into = value.get<bool>();
  };
  if (name == "default") {
    if (value.is_null()) throw members.wrong("options/default", "given or left out, not null");
    input.default_value = value;
  } else if (name == "min") {
    set_number(input.min, value, members, name);
  } else if (name == "max") {
    set_number(input.max, value, members, name);
  } else if (name == "step") {
    set_number(input.step, value, members, name);
  } else if (name == "round") {
    set_number(input.round, value, members, name);
  } else if (name == "lazy") {
    flag(input.lazy);
  } else if (name == "rawLink") {
    flag(input.raw_link);
  } else if (name == "forceInput") {
    flag(input.force_input);
  } else if (name == "multiline") {
    flag(input.multiline);
  } else if (name == "dynamicPrompts") {
    flag(input.dynamic_prompts);
  } else if (name == "control_after_generate") {
    flag(input.control_after_generate);
  } else if (name == "image_upload") {
    flag(input.image_upload);
  } else if (name == "tooltip") {
    if (!value.is_string()) throw members.wrong("options/tooltip", "a text");
    input.tooltip = value.get<std::string>();
  } else {
    input.extra[name] = value;
  }
}

InputDef input_of(const Json& json, const std::string& where) {
  const Members members(json, where, {"name", "section", "type", "choices", "combo", "options"});
  InputDef input;
  input.name = members.name("name");
  input.section = section_of(members);
  if (members.find("choices") != nullptr) {
    if (members.find("type") != nullptr) throw members.wrong("type", "left out beside choices");
    input.type = "COMBO";
    input.options = members.texts("choices");
    if (input.options.empty()) throw members.wrong("choices", "a list of at least one text");
    input.choice_form = members.flag("combo") ? graph::ChoiceForm::combo : graph::ChoiceForm::list;
  } else {
    input.type = members.name("type");
    if (input.type == "COMBO") throw members.wrong("choices", "given for the type COMBO");
  }
  if (const Json* options = members.find("options")) {
    if (!options->is_object()) throw members.wrong("options", "an object");
    input.always_options = true;
    for (const auto& [name, value] : options->get_ref<const Json::object_t&>()) set_option(input, name, value, members);
  }
  if (graph::compare_numbers(input.min, input.max) == std::partial_ordering::greater) throw members.wrong("options/min", "at most options/max");
  return input;
}

graph::OutputDef output_of(const Json& json, const std::string& where) {
  const Members members(json, where, {"name", "type", "is_list", "tooltip"});
  graph::OutputDef output;
  output.type = members.name("type");
  output.name = members.text("name");
  output.is_list = members.flag("is_list");
  output.tooltip = members.text("tooltip");
  return output;
}

void read_validator(graph::NodeDef& def, const Members& node) {
  const Json* json = node.find("validates");
  if (json == nullptr) return;
  const Members members(*json, def.class_type + "/validates", {"inputs", "all", "input_types"});
  def.validator.inputs = members.texts("inputs");
  def.validator.takes_all = members.flag("all");
  def.validator.takes_input_types = members.flag("input_types");
  for (const std::string& name : def.validator.inputs) {
    if (def.input(name) == nullptr) throw members.wrong("inputs", "names of inputs of the class, unlike '" + name + "'");
  }
}

}  // namespace

graph::NodeDef parse_description(std::string_view text) {
  const Json json = graph::parse_json(text, {.max_bytes = size_t{1} << 20, .max_depth = 16});
  const Members members(json, "description",
                        {"class", "display_name", "category", "description", "inputs", "outputs", "output_node", "input_is_list", "accepts_any_input",
                         "not_idempotent", "async", "deprecated", "experimental", "newer_schema", "validates"});
  graph::NodeDef def;
  def.class_type = members.name("class");
  def.display_name = members.text("display_name");
  def.category = members.text("category");
  def.description = members.text("description");
  def.output_node = members.flag("output_node");
  def.input_is_list = members.flag("input_is_list");
  def.accepts_any_input = members.flag("accepts_any_input");
  def.not_idempotent = members.flag("not_idempotent");
  def.async = members.flag("async");
  def.deprecated = members.flag("deprecated");
  def.experimental = members.flag("experimental");
  def.newer_schema = members.flag("newer_schema");
  size_t index = 0;
  for (const Json& each : members.list("inputs")) {
    InputDef input = input_of(each, def.class_type + "/inputs/" + std::to_string(index++));
    if (def.input(input.name) != nullptr) throw members.wrong("inputs", "without two of one name, unlike '" + input.name + "'");
    def.inputs.push_back(std::move(input));
  }
  index = 0;
  for (const Json& each : members.list("outputs")) def.outputs.push_back(output_of(each, def.class_type + "/outputs/" + std::to_string(index++)));
  read_validator(def, members);
  return def;
}

}  // namespace veneer::plugins
