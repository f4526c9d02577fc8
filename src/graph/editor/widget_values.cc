#include "graph/editor/widget_values.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace veneer::graph {
namespace {

constexpr std::string_view kControl = "control_after_generate";
constexpr std::string_view kUpload = "upload";

// A widget in the order of the list. `name` is empty for one of the editor's own.
struct Widget {
  std::string name;
  bool control_follows = false;  // "fixed", "randomize", ... may come next
  bool own = false;              // the editor's: has a value, is no input
};

bool is_control_word(const Json& value) {
  constexpr std::array<std::string_view, 5> kWords = {"fixed", "increment", "decrement", "randomize", "increment-wrap"};
  return value.is_string() && std::ranges::find(kWords, value.get_ref<const std::string&>()) != kWords.end();
}

bool is_seed(std::string_view name, std::string_view type) { return type == "INT" && (name == "seed" || name == "noise_seed"); }

std::vector<Widget> widgets_of(const NodeDef& def) {
  std::vector<Widget> widgets;
  bool upload = false;
  InputSection section = InputSection::required;
  const auto end_section = [&] {
    if (upload) widgets.push_back({"", false, true});  // the button comes behind the inputs of its section
    upload = false;
  };
  for (const InputDef& input : def.inputs) {
    if (input.section != section) end_section();
    section = input.section;
    if (!has_widget(input)) continue;
    widgets.push_back({input.name, input.control_after_generate || is_seed(input.name, input.type), false});
    upload = upload || input.image_upload;
  }
  end_section();
  return widgets;
}

// The names that the node itself gives for its widgets.
std::vector<Widget> widgets_of(const EditorNode& node) {
  std::vector<Widget> widgets;
  for (const EditorSlot& slot : node.inputs) {
    if (!slot.widget.empty()) widgets.push_back({slot.widget, true, false});
  }
  return widgets;
}

void take_object(const Json& object, const NodeDef* def, WidgetValues& out) {
  for (const auto& [name, value] : object.items()) {
    const bool declared = def != nullptr && def->input(name) != nullptr;
    if (declared || (def == nullptr && name != kControl)) {
      out.values.emplace_back(name, value);
    } else if (name != kControl && name != kUpload) {
      out.remarks.push_back({"", "", name, "unmapped_values", "the class has no such input here: its value is left out", true});
    }
  }
}

// How far the list goes: values at its end that only the editor's own widgets can have are no loss.
size_t meaningful(const Json& list, size_t from) {
  size_t end = list.size();
  while (end > from && (list[end - 1].is_null() || list[end - 1] == "image" || is_control_word(list[end - 1]))) --end;
  return end;
}

// The values taken, and how many elements of the list are left.
size_t take_list(const Json& list, const std::vector<Widget>& widgets, WidgetValues& out) {
  size_t next = 0;
  for (const Widget& widget : widgets) {
    if (next >= list.size()) break;
    if (widget.own) {
      if (list[next].is_string() || list[next].is_null()) ++next;
      continue;
    }
    out.values.emplace_back(widget.name, list[next++]);
    if (widget.control_follows && next < list.size() && is_control_word(list[next])) ++next;
  }
  return meaningful(list, next) - next;
}

Json default_of(const InputDef& input) {
  if (!input.default_value.is_null()) return input.default_value;
  return input.is_choice() && !input.options.empty() ? Json(input.options.front()) : Json();
}

void add_defaults(const NodeDef& def, WidgetValues& out) {
  for (const InputDef& input : def.inputs) {
    if (!has_widget(input) || std::ranges::find(out.values, input.name, [](const auto& entry) { return entry.first; }) != out.values.end()) continue;
    Json value = default_of(input);
    if (value.is_null()) continue;
    if (input.section == InputSection::required) {
      out.remarks.push_back({"", "", input.name, "default_used", "the workflow has no value for it: the default is used", false});
    }
    out.values.emplace_back(input.name, std::move(value));
  }
}

void take_known(const Json& list, const NodeDef& def, WidgetValues& out) {
  const size_t left = take_list(list, widgets_of(def), out);
  if (left > 0) {
    out.remarks.push_back({"", "", "", "unmapped_values",
                           "the workflow has " + std::to_string(left) + " more values than the class has widgets: they are left out", true});
  }
}

void take_unknown(const Json& list, const EditorNode& node, WidgetValues& out) {
  const std::vector<Widget> widgets = widgets_of(node);
  WidgetValues taken;
  const size_t left = take_list(list, widgets, taken);
  if (left == 0 && taken.values.size() == widgets.size()) {
    out.values = std::move(taken.values);
  } else if (meaningful(list, 0) > 0) {
    out.remarks.push_back({"", "", "", "unmapped_values",
                           "the class is not known and the workflow does not name its widgets: " + std::to_string(list.size()) +
                               " values cannot be told apart and are left out",
                           true});
  }
}

const Json* member(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() ? nullptr : &*it;
}

}  // namespace

bool has_widget(const InputDef& input) {
  if (input.section == InputSection::hidden || input.force_input) return false;
  return input.type == "INT" || input.type == "FLOAT" || input.type == "STRING" || input.type == "BOOLEAN" || input.is_choice();
}

WidgetValues widget_values(const EditorNode& node, const NodeDef* def) {
  WidgetValues out;
  const Json* named = member(*node.json, "widgets_values_named");
  const Json* values = member(*node.json, "widgets_values");
  if (named != nullptr && named->is_object()) {
    take_object(*named, def, out);
  } else if (values != nullptr && values->is_object()) {
    take_object(*values, def, out);
  } else if (values != nullptr && values->is_array()) {
    if (def != nullptr) {
      take_known(*values, *def, out);
    } else {
      take_unknown(*values, node, out);
    }
  }
  if (def != nullptr) add_defaults(*def, out);
  return out;
}

}  // namespace veneer::graph
