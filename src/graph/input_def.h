// InputDef and OutputDef: the typed description of one input or output of a node class. Validation, /object_info and help all read it.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "graph/environment.h"
#include "graph/json.h"

namespace veneer::graph {

// Makes the options of a choice at the time of the request, e.g. by listing a model folder. May throw Error.
using OptionsFunction = std::function<std::vector<std::string>(const Environment&)>;

enum class InputSection : uint8_t { required, optional, hidden };

// How a choice is written in /object_info: the list in the place of the type (the older form, checked against the list), or type "COMBO" with
// an `options` member (the newer form).
enum class ChoiceForm : uint8_t { list, combo };

// Plain data with factories. `type` is "INT", "FLOAT", "STRING", "BOOLEAN", "COMBO", a socket type such as "MODEL", a union such as
// "IMAGE,FLOAT", or "*". Numbers are kept as JSON so that 8.0 stays a float and 2^64 - 1 stays exact; null means: not given.
struct InputDef {
  std::string name;
  std::string type;
  InputSection section = InputSection::required;
  Json default_value;
  Json min;
  Json max;
  Json step;
  Json round;
  std::string tooltip;
  std::vector<std::string> options;  // choices: the fixed list ...
  OptionsFunction options_from;      // ... or where it comes from
  ChoiceForm choice_form = ChoiceForm::list;
  bool lazy = false;                    // evaluated only if check_lazy_status asks for it
  bool raw_link = false;                // the node gets the link itself, [id, slot], not the value
  bool force_input = false;             // shown as a socket although its type has a widget
  bool multiline = false;               // STRING: a text box
  bool dynamic_prompts = false;         // STRING: {a|b} is expanded by the editor
  bool control_after_generate = false;  // INT: the editor may change it after each run
  bool image_upload = false;            // choice of files: the editor offers an upload
  bool always_options = false;          // /object_info writes the options object even when it is empty
  Json extra = Json::object();          // further members of the options object, e.g. {"display": "color"}

  static InputDef socket(std::string name, std::string type);
  static InputDef integer(std::string name, int64_t default_value, int64_t min, int64_t max, Json step = nullptr);
  // An INT from 0 to 2^64 - 1 with default 0 that the editor may change after each run.
  static InputDef seed(std::string name);
  static InputDef number(std::string name, double default_value, double min, double max, Json step = nullptr, Json round = nullptr);
  static InputDef text(std::string name, Json default_value = nullptr);
  static InputDef multiline_text(std::string name, bool dynamic_prompts = false);
  static InputDef boolean(std::string name, Json default_value = nullptr);
  static InputDef choice(std::string name, std::vector<std::string> options);
  static InputDef choice(std::string name, OptionsFunction options_from);
  // type: "PROMPT", "EXTRA_PNGINFO", "UNIQUE_ID", "DYNPROMPT". Hidden inputs are announced here and read from the NodeContext.
  static InputDef hidden(std::string name, std::string type);

  // Chained: InputDef::socket("mask", "MASK").as_optional().tip("...")
  InputDef as_optional() && { return section = InputSection::optional, std::move(*this); }
  InputDef as_lazy() && { return lazy = true, std::move(*this); }
  InputDef as_raw_link() && { return raw_link = true, std::move(*this); }
  InputDef as_forced_input() && { return force_input = true, std::move(*this); }
  InputDef as_combo() && { return choice_form = ChoiceForm::combo, std::move(*this); }
  InputDef as_image_upload() && { return image_upload = true, std::move(*this); }
  InputDef with_default(Json value) && { return default_value = std::move(value), std::move(*this); }
  InputDef tip(std::string text) && { return tooltip = std::move(text), std::move(*this); }
  InputDef with(const std::string& key, Json value) && { return extra[key] = std::move(value), std::move(*this); }

  bool is_choice() const { return type == "COMBO"; }
  // The options now: the fixed list, or what options_from answers.
  std::vector<std::string> current_options(const Environment& environment) const;
};

// `name` defaults to the type when empty.
struct OutputDef {
  std::string name;
  std::string type;
  bool is_list = false;
  std::string tooltip;
};

}  // namespace veneer::graph
