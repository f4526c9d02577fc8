#include "engine/portability.h"

#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "graph/json_text.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr size_t kLongestPath = 4096;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_slash(char c) { return c == '/' || c == '\\'; }

bool has_parent_part(std::string_view text) {
  for (size_t at = text.find(".."); at != std::string_view::npos; at = text.find("..", at + 1)) {
    const bool begins = at == 0 || is_slash(text[at - 1]);
    const bool ends = at + 2 == text.size() || is_slash(text[at + 2]);
    if (begins && ends) return true;
  }
  return false;
}

bool has_model_extension(std::string_view text) {
  constexpr std::array<std::string_view, 7> kExtensions = {".safetensors", ".sft", ".ckpt", ".pt", ".pth", ".bin", ".gguf"};
  for (const std::string_view extension : kExtensions) {
    if (text.ends_with(extension)) return true;
  }
  return false;
}

bool begins_at_home(std::string_view text) {
  constexpr std::array<std::string_view, 6> kHomes = {"~/", "~\\", "$HOME", "${HOME}", "%USERPROFILE%", "%HOMEPATH%"};
  for (const std::string_view home : kHomes) {
    if (text.starts_with(home)) return true;
  }
  return false;
}

// "<torch.Tensor object at 0x7f...>", "tensor([[...", "b'...'": what a program prints when it is asked to write an object as text.
bool is_printed_object(std::string_view text) {
  const bool printed = text.starts_with('<') && text.ends_with('>') && text.find(" at 0x") != std::string_view::npos;
  return printed || text.starts_with("tensor(") || text.starts_with("<class '") || text.starts_with("array([");
}

bool is_marked_object(const Json& value) {
  constexpr std::array<const char*, 4> kMarks = {"py/object", "__class__", "__reduce__", "__pickle__"};
  for (const char* mark : kMarks) {
    if (value.contains(mark)) return true;
  }
  return false;
}

class Walk {
 public:
  Walk(const graph::NodeRegistry& nodes, std::vector<WorkflowFinding>& out) : nodes_(nodes), out_(out) {}

  void node(const std::string& id, const Json& node) {
    const auto class_type = node.find("class_type");
    const auto inputs = node.find("inputs");
    if (inputs == node.end() || !inputs->is_object()) return;
    node_ = id;
    class_ = class_type != node.end() && class_type->is_string() ? class_type->get<std::string>() : std::string();
    const graph::NodeDef* def = nodes_.find(class_);
    for (const auto& [name, value] : inputs->get_ref<const Json::object_t&>()) {
      const graph::InputDef* input = def == nullptr ? nullptr : def->input(name);
      check(name, value, def == nullptr, input);
    }
  }

 private:
  void add(const std::string& input, const Json& value, WorkflowFinding::Severity severity, std::string rule, std::string message) {
    out_.push_back({severity, node_, class_, input, std::move(rule), std::move(message), text_of_value(value), {}, {}});
  }

  // Numbers that JSON does not have are bare words here, too.
  static std::string text_of_value(const Json& value) {
    constexpr size_t kMost = 500;
    std::string text = value.is_number_float() ? graph::dump_json(value) : value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (text.size() > kMost) text.resize(kMost);
    return text;
  }

  void check(const std::string& name, const Json& value, bool unknown_class, const graph::InputDef* input) {
    if (value.is_string()) return check_text(name, value, unknown_class, input);
    if (value.is_number_float() && !std::isfinite(value.get<double>())) {
      return add(name, value, WorkflowFinding::Severity::error, "not_json", "JSON has no such number: other programs cannot read the workflow");
    }
    if (!value.is_structured()) return;
    if (value.is_object() && is_marked_object(value)) {
      add(name, value, WorkflowFinding::Severity::error, "embedded_object", "this is a program's object, not data");
    }
    // The depth is that of the JSON reader, which is limited.
    for (const Json& element : value) check(name, element, unknown_class, input);
  }

  void check_text(const std::string& name, const Json& value, bool unknown_class, const graph::InputDef* input) {
    const std::string& text = value.get_ref<const std::string&>();
    if (input != nullptr && input->multiline) return;
    if (is_printed_object(text)) {
      return add(name, value, WorkflowFinding::Severity::error, "embedded_object", "this is a printed object, not data");
    }
    const bool is_name = (input != nullptr && input->is_choice()) || (unknown_class && has_model_extension(text));
    const std::optional<PathProblem> problem = path_problem(text, is_name);
    if (!problem) return;
    const bool chosen = input != nullptr && input->is_choice() && problem->refused;
    add(name, value, chosen ? WorkflowFinding::Severity::error : WorkflowFinding::Severity::warning, problem->rule, problem->message);
  }

  const graph::NodeRegistry& nodes_;
  std::vector<WorkflowFinding>& out_;
  std::string node_, class_;
};

}  // namespace

std::optional<PathProblem> path_problem(std::string_view text, bool is_name) {
  if (text.empty() || text.size() > kLongestPath || text.find('\n') != std::string_view::npos) return std::nullopt;
  if (begins_at_home(text))
    return PathProblem{"home_folder", "a path in a home folder exists on one machine only: use the name in the model folders"};
  if (text.size() > 2 && is_letter(text[0]) && text[1] == ':' && is_slash(text[2])) {
    return PathProblem{"drive_letter", "a path with a drive exists on one machine only: use the name in the model folders"};
  }
  const bool rooted = is_slash(text[0]) && text.size() > 1;
  if (rooted && (is_name || (text.find('/', 1) != std::string_view::npos && text.find(' ') == std::string_view::npos))) {
    return PathProblem{"absolute_path", "an absolute path exists on one machine only: use the name in the model folders"};
  }
  if (has_parent_part(text)) return PathProblem{"parent_folder", "'..' leaves the folder of the models"};
  if (is_name && text.find('\\') != std::string_view::npos) {
    return PathProblem{"backslash", "folders are separated by '/' on other systems", false};
  }
  return std::nullopt;
}

std::vector<WorkflowFinding> portability_findings(const Json& prompt, const graph::NodeRegistry& nodes) {
  std::vector<WorkflowFinding> out;
  if (!prompt.is_object()) return out;
  Walk walk(nodes, out);
  for (const auto& [id, node] : prompt.get_ref<const Json::object_t&>()) {
    if (node.is_object()) walk.node(id, node);
  }
  return out;
}

}  // namespace veneer::engine
