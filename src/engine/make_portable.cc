#include <algorithm>
#include <map>
#include <utility>

#include "engine/portability.h"
#include "engine/validate_workflow.h"
#include "engine/workflow_input.h"
#include "nodes/model_choice.h"

namespace veneer::engine {
namespace {

using graph::Json;

std::string with_slashes(std::string text) {
  std::ranges::replace(text, '\\', '/');
  return text;
}

std::string folded(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c == '\\' ? '/' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// The option that a value means: written with other slashes or in another case, or by a path that ends with it. The longest counts.
std::string meant_option(const std::string& value, const std::vector<std::string>& options) {
  if (std::ranges::find(options, value) != options.end()) return value;
  const std::string wanted = folded(value);
  std::string best;
  for (const std::string& option : options) {
    const std::string candidate = folded(option);
    const bool same = candidate == wanted || wanted.ends_with("/" + candidate);
    if (same && option.size() > best.size()) best = option;
  }
  return best;
}

struct Change {
  WorkflowFinding finding;
  std::string from, to;
};

class Portable {
 public:
  Portable(const graph::NodeRegistry& nodes, const graph::Environment& environment) : nodes_(nodes), environment_(environment) {}

  std::vector<Change> changes(Json& prompt) {
    for (auto& [id, node] : prompt.get_ref<Json::object_t&>()) {
      const auto class_type = node.is_object() ? node.find("class_type") : node.end();
      const auto inputs = node.is_object() ? node.find("inputs") : node.end();
      if (class_type == node.end() || !class_type->is_string() || inputs == node.end() || !inputs->is_object()) continue;
      const graph::NodeDef* def = nodes_.find(class_type->get_ref<const std::string&>());
      if (def == nullptr) continue;
      for (const graph::InputDef& input : def->inputs) {
        const auto value = inputs->find(input.name);
        if (value != inputs->end() && value->is_string() && input.is_choice()) change(id, def->class_type, input, *value);
      }
    }
    return std::move(changes_);
  }

 private:
  const std::vector<std::string>& options_of(const graph::InputDef& input) {
    const auto known = options_.find(&input);
    if (known != options_.end()) return known->second;
    return options_[&input] = input.current_options(environment_);
  }

  void change(const std::string& id, const std::string& class_type, const graph::InputDef& input, Json& value) {
    const std::string from = value.get<std::string>();
    std::string to = meant_option(from, options_of(input));
    if (to.empty() && path_problem(from, true) && !path_problem(from, true)->refused) to = with_slashes(from);
    if (to.empty() || to == from) return;
    const std::optional<PathProblem> problem = path_problem(from, true);
    WorkflowFinding finding;
    finding.severity = WorkflowFinding::Severity::note;
    finding.node = id;
    finding.class_type = class_type;
    finding.input = input.name;
    finding.rule = problem ? problem->rule : "name_case";
    finding.message = "changed to " + to;
    finding.value = Json(from).dump(-1, ' ', false, Json::error_handler_t::replace);
    finding.nearest = {to};
    value = to;
    changes_.push_back({std::move(finding), from, std::move(to)});
  }

  const graph::NodeRegistry& nodes_;
  const graph::Environment& environment_;
  std::map<const graph::InputDef*, std::vector<std::string>> options_;
  std::vector<Change> changes_;
};

// In the editor's form values have no names; what is changed in one place is changed wherever the same text is a widget's value.
void change_widgets(Json& json, const std::map<std::string, std::string>& changed, bool in_values) {
  if (json.is_string() && in_values) {
    const auto to = changed.find(json.get_ref<const std::string&>());
    if (to != changed.end()) json = to->second;
  } else if (json.is_object()) {
    for (auto& [name, value] : json.get_ref<Json::object_t&>()) {
      change_widgets(value, changed, in_values || name == "widgets_values" || name == "widgets_values_named");
    }
  } else if (json.is_array()) {
    for (Json& value : json) change_widgets(value, changed, in_values);
  }
}

}  // namespace

PortableWorkflow make_portable(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment) {
  WorkflowInput input = read_workflow(workflow, nodes);
  PortableWorkflow out;
  std::map<std::string, std::string> changed;
  for (Change& change : Portable(nodes, environment).changes(input.prompt)) {
    changed[change.from] = change.to;
    out.changes.push_back(std::move(change.finding));
  }
  Json whole = input.from_editor ? input.extra_pnginfo.at("workflow") : std::move(input.prompt);
  if (input.from_editor) change_widgets(whole, changed, false);
  out.text = whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return out;
}

}  // namespace veneer::engine
