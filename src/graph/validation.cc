#include "graph/validation.h"

#include <algorithm>
#include <unordered_set>

#include "graph/node_check.h"
#include "graph/python_text.h"
#include "graph/validation_errors.h"

namespace veneer::graph {
namespace {

constexpr size_t kMaxReported = 100;
constexpr size_t kMaxDependentSteps = 5'000'000;  // work spent on telling which outputs an error concerns

class Validator {
 public:
  Validator(Prompt& prompt, const NodeRegistry& registry, const Environment& environment, const ValidationOptions& options)
      : prompt_(prompt), choices_(environment, options.terse), options_(options), nodes_(prompt.size()) {
    for (size_t i = 0; i < prompt.size(); ++i) nodes_[i].def = registry.find(prompt.nodes()[i].class_type);
  }

  bool validate(size_t output);
  Json errors_of(size_t node) const { return nodes_[node].errors; }
  Json take_node_errors(const std::vector<size_t>& bad_outputs);
  std::vector<std::vector<std::string>> take_cycles() { return std::move(cycles_); }

 private:
  enum class Visit : uint8_t { fresh, open, valid, invalid };
  struct Node {
    const NodeDef* def = nullptr;
    Visit visit = Visit::fresh;
    Json errors = Json::array();
  };
  // A node whose checks are under way. `via` and `link` say which input of the node below led here.
  struct Frame {
    Frame(size_t index_, NodeCheck check_, const InputDef* via_, Json link_)
        : index(index_), check(std::move(check_)), via(via_), link(std::move(link_)) {}
    size_t index;
    NodeCheck check;
    const InputDef* via;
    Json link;
    size_t next_input = 0;
    bool valid = true;
  };

  void open(size_t index, const InputDef* via, Json link);
  void close();
  void step(Frame& frame);
  // Whether the frame has to wait for the node behind the link.
  bool follow(Frame& frame, const InputDef& input, const Json& link);
  void fail(const CheckException& exception);
  void note_cycle(size_t index);

  Prompt& prompt_;
  ChoiceCache choices_;
  const ValidationOptions& options_;
  std::vector<Node> nodes_;
  std::vector<Frame> stack_;
  std::vector<std::vector<std::string>> cycles_;
};

bool Validator::validate(size_t output) {
  if (nodes_[output].visit == Visit::fresh) open(output, nullptr, nullptr);
  while (!stack_.empty()) {
    try {
      step(stack_.back());
    } catch (const CheckException& exception) {
      fail(exception);
    }
  }
  return nodes_[output].visit == Visit::valid;
}

void Validator::open(size_t index, const InputDef* via, Json link) {
  Node& node = nodes_[index];
  node.visit = Visit::open;
  stack_.emplace_back(index, NodeCheck(prompt_.node_at(index), *node.def, choices_, options_), via, std::move(link));
}

void Validator::close() {
  Frame& frame = stack_.back();
  Node& node = nodes_[frame.index];
  const bool valid = frame.valid && !frame.check.has_errors();
  node.visit = valid ? Visit::valid : Visit::invalid;
  node.errors = frame.check.take_errors();
  stack_.pop_back();
  if (!valid && !stack_.empty()) stack_.back().valid = false;
}

void Validator::step(Frame& frame) {
  const PromptNode& node = prompt_.nodes()[frame.index];
  const NodeDef& def = *nodes_[frame.index].def;
  const auto member = node.members.find("inputs");
  if (member == node.members.end()) throw CheckException{"KeyError", "'inputs'"};
  if (!member->is_object() && !(member->is_array() && member->empty())) {
    throw CheckException{"TypeError", "inputs must be an object, not " + python_type(*member)};
  }
  while (frame.next_input < def.inputs.size()) {
    const InputDef& input = def.inputs[frame.next_input++];
    if (input.section == InputSection::hidden) continue;
    const Json* value = node.input(input.name);
    if (value == nullptr) {
      if (input.section == InputSection::required) frame.check.add(required_input_missing(input.name));
    } else if (value->is_array()) {
      if (follow(frame, input, *value)) return;
    } else {
      const Json given = *value;  // the check may replace it
      frame.check.check_constant(input, given);
    }
  }
  frame.check.check_own();
  close();
}

bool Validator::follow(Frame& frame, const InputDef& input, const Json& link) {
  if (link.size() != 2) {
    frame.check.add(bad_linked_input(input.name, choices_.config(input), link));
    return false;
  }
  const size_t source = link[0].is_string() ? prompt_.index_of(link[0].get_ref<const std::string&>()) : Prompt::kNone;
  if (link[0].is_structured()) throw CheckException{"TypeError", "unhashable type: '" + python_type(link[0]) + "'"};
  if (source == Prompt::kNone) throw CheckException{"KeyError", python_repr(link[0])};
  if (!frame.check.check_link(input, link, *nodes_[source].def)) return false;
  switch (nodes_[source].visit) {
    case Visit::fresh: open(source, &input, link); return true;
    case Visit::open:
      note_cycle(source);
      frame.valid = false;
      return false;
    case Visit::invalid: frame.valid = false; return false;
    case Visit::valid: return false;
  }
  return false;
}

// As in the reference, an exception takes the place of whatever else was found about the node.
void Validator::fail(const CheckException& exception) {
  const Frame& frame = stack_.back();
  Node& node = nodes_[frame.index];
  node.visit = Visit::invalid;
  Json config;
  try {
    if (frame.via != nullptr) config = choices_.config(*frame.via);
  } catch (const CheckException&) {
    config = nullptr;  // the options cannot be listed: they are no help here
  }
  node.errors = Json::array();
  node.errors.push_back(frame.via == nullptr ? exception_during_validation(exception)
                                             : exception_during_inner_validation(exception, frame.via->name, std::move(config), frame.link));
  stack_.pop_back();
  if (!stack_.empty()) stack_.back().valid = false;
}

void Validator::note_cycle(size_t index) {
  if (cycles_.size() >= kMaxReported) return;
  const auto first = std::ranges::find(stack_, index, &Frame::index);
  std::vector<std::string> ids;
  for (auto it = first; it != stack_.end(); ++it) ids.push_back(prompt_.nodes()[it->index].id);
  cycles_.push_back(std::move(ids));
}

Json Validator::take_node_errors(const std::vector<size_t>& bad_outputs) {
  std::vector<std::vector<size_t>> dependents(nodes_.size());
  std::vector<size_t> seen_by(nodes_.size(), Prompt::kNone);
  size_t steps = 0;
  for (const size_t output : bad_outputs) {
    if (options_.terse) break;
    std::vector<size_t> stack = {output};
    seen_by[output] = output;
    while (!stack.empty() && steps < kMaxDependentSteps) {
      const size_t index = stack.back();
      stack.pop_back();
      if (!nodes_[index].errors.empty()) dependents[index].push_back(output);
      const Json* inputs = prompt_.nodes()[index].inputs();
      if (inputs == nullptr) continue;
      for (const Json& value : *inputs) {
        ++steps;
        if (!value.is_array() || value.size() != 2 || !value[0].is_string()) continue;
        const size_t source = prompt_.index_of(value[0].get_ref<const std::string&>());
        if (source == Prompt::kNone || nodes_[source].visit != Visit::invalid || seen_by[source] == output) continue;
        seen_by[source] = output;
        stack.push_back(source);
      }
    }
  }
  Json::object_t all;
  all.reserve(nodes_.size());  // growing, it would copy every member: keys are constant
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].errors.empty()) continue;
    Json entry = Json::object();
    entry["errors"] = std::move(nodes_[i].errors);
    entry["dependent_outputs"] = Json::array();
    for (const size_t output : dependents[i]) entry["dependent_outputs"].push_back(prompt_.nodes()[output].id);
    entry["class_type"] = prompt_.nodes()[i].class_type;
    static_cast<std::vector<Json::object_t::value_type>&>(all).emplace_back(prompt_.nodes()[i].id, std::move(entry));
  }
  return Json(std::move(all));
}

// Fills `unknown_classes` and, for the first of them, `error`.
void check_classes(Validation& result, const NodeRegistry& registry) {
  for (const PromptNode& node : result.prompt.nodes()) {
    if (registry.find(node.class_type) != nullptr) continue;
    if (result.error.is_null()) {
      result.error =
          error_object("invalid_prompt", "Cannot execute because node " + node.class_type + " does not exist.", "Node ID '#" + node.id + "'");
    }
    if (result.unknown_classes.size() >= kMaxReported) return;
    result.unknown_classes.push_back({node.id, node.class_type, registry.nearest(node.class_type)});
  }
}

std::vector<size_t> selected_outputs(const Prompt& prompt, const NodeRegistry& registry, const ValidationOptions& options) {
  std::unordered_set<std::string_view> wanted;
  if (options.targets) wanted.insert(options.targets->begin(), options.targets->end());
  std::vector<size_t> outputs;
  for (size_t i = 0; i < prompt.size(); ++i) {
    const PromptNode& node = prompt.nodes()[i];
    if (registry.find(node.class_type)->output_node && (!options.targets || wanted.contains(node.id))) outputs.push_back(i);
  }
  return outputs;
}

}  // namespace

Validation validate_prompt(Json json, const NodeRegistry& registry, const Environment& environment, const ValidationOptions& options) {
  Validation result;
  PromptFault fault;
  std::optional<Prompt> prompt = Prompt::parse(std::move(json), fault, options.limits);
  if (!prompt) {
    result.error = error_object(fault.type, fault.message, fault.details);
    return result;
  }
  result.prompt = *std::move(prompt);
  check_classes(result, registry);
  if (!result.ok()) return result;
  const std::vector<size_t> outputs = selected_outputs(result.prompt, registry, options);
  if (outputs.empty()) {
    result.error = no_outputs_error();
    return result;
  }
  Validator validator(result.prompt, registry, environment, options);
  std::vector<size_t> bad;
  std::string details;
  for (const size_t output : outputs) {
    if (validator.validate(output)) {
      result.outputs.push_back(result.prompt.nodes()[output].id);
      continue;
    }
    bad.push_back(output);
    if (options.terse) continue;
    for (const Json& error : validator.errors_of(output)) {
      if (!details.empty()) details += '\n';
      details.append(error["message"].get<std::string>()).append(": ").append(error["details"].get<std::string>());
    }
  }
  result.node_errors = validator.take_node_errors(bad);
  result.cycles = validator.take_cycles();
  if (result.outputs.empty()) result.error = outputs_failed_error(std::move(details));
  return result;
}

}  // namespace veneer::graph
