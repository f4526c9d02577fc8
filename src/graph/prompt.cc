#include "graph/prompt.h"

#include <limits>

#include "graph/python_text.h"
#include "veneer/error.h"

namespace veneer::graph {

const Json* PromptNode::inputs() const {
  const auto it = members.find("inputs");
  return it == members.end() || !it->is_object() ? nullptr : &*it;
}

const Json* PromptNode::input(std::string_view name) const {
  const Json* all = inputs();
  if (all == nullptr) return nullptr;
  const auto it = all->find(name);
  return it == all->end() ? nullptr : &*it;
}

void PromptNode::set_input(const std::string& name, Json value) {
  Json& all = members["inputs"];
  if (!all.is_object()) all = Json::object();
  all[name] = std::move(value);
}

std::optional<Prompt> Prompt::parse(Json json, PromptFault& fault, const PromptLimits& limits) {
  const auto refuse = [&](std::string message, std::string details, std::string id = "") {
    fault = {"invalid_prompt", std::move(message), std::move(details), std::move(id)};
    return std::nullopt;
  };
  if (json.is_array() && json.empty()) json = Json::object();
  if (!json.is_object()) return refuse("Cannot execute because the prompt is not an object of nodes.", "prompt is of type " + python_type(json));
  if (is_editor_workflow(json)) {
    return refuse("Cannot execute because this is a workflow as the editor saves it, not a prompt in API format.", "members nodes and links");
  }
  auto& object = json.get_ref<Json::object_t&>();
  if (object.size() > limits.max_nodes) {
    return refuse("Cannot execute because the prompt has too many nodes.", "at most " + std::to_string(limits.max_nodes));
  }
  Prompt prompt;
  prompt.nodes_.reserve(object.size());
  for (auto& [id, members] : object) {
    const std::string where = "Node ID '#" + id + "'";
    if (!members.is_object()) return refuse("Cannot execute because a node is not an object.", where, id);
    const auto class_type = members.find("class_type");
    if (class_type == members.end()) return refuse("Cannot execute because a node is missing the class_type property.", where, id);
    if (!class_type->is_string()) return refuse("Cannot execute because the class_type property of a node is not text.", where, id);
    const auto inputs = members.find("inputs");
    if (inputs != members.end() && inputs->size() > limits.max_inputs) {
      return refuse("Cannot execute because a node has too many inputs.", where, id);
    }
    if (!prompt.index_.emplace(id, prompt.nodes_.size()).second) return refuse("Cannot execute because a node ID occurs twice.", where, id);
    prompt.nodes_.push_back({id, class_type->get<std::string>(), std::move(members)});
  }
  return prompt;
}

Prompt Prompt::from_json(Json json, const PromptLimits& limits) {
  PromptFault fault;
  if (std::optional<Prompt> prompt = parse(std::move(json), fault, limits)) return *std::move(prompt);
  Error::Context context = {{"details", fault.details}};
  if (!fault.node_id.empty()) context.emplace_back("node", fault.node_id);
  throw Error(ErrorCode::invalid, fault.message, std::move(context));
}

size_t Prompt::index_of(std::string_view id) const {
  const auto it = index_.find(id);
  return it == index_.end() ? kNone : it->second;
}

const PromptNode* Prompt::find(std::string_view id) const {
  const size_t index = index_of(id);
  return index == kNone ? nullptr : &nodes_[index];
}

PromptNode* Prompt::find(std::string_view id) {
  const size_t index = index_of(id);
  return index == kNone ? nullptr : &nodes_[index];
}

Json Prompt::to_json() const {
  Json::object_t object;
  object.reserve(nodes_.size());
  // Ids are unique already, so the map's own linear search is left out.
  for (const PromptNode& node : nodes_) static_cast<std::vector<Json::object_t::value_type>&>(object).emplace_back(node.id, node.members);
  return Json(std::move(object));
}

bool is_editor_workflow(const Json& json) {
  if (!json.is_object()) return false;
  const auto nodes = json.find("nodes");
  const auto links = json.find("links");
  return nodes != json.end() && nodes->is_array() && links != json.end() && (links->is_array() || links->is_object());
}

std::optional<Link> as_link(const Json& value) {
  if (!value.is_array() || value.size() != 2 || !value[0].is_string()) return std::nullopt;
  const Json& slot = value[1];
  if (!slot.is_number_integer() || (slot.is_number_unsigned() && slot.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int>::max()))) {
    return std::nullopt;
  }
  const auto number = slot.get<int64_t>();
  if (number < std::numeric_limits<int>::min() || number > std::numeric_limits<int>::max()) return std::nullopt;
  return Link{value[0].get<std::string>(), static_cast<int>(number)};
}

const Json& unwrapped(const Json& value) {
  if (!value.is_object()) return value;
  const auto inner = value.find("__value__");
  return inner == value.end() ? value : *inner;
}

Source source_of(const Json& value) {
  if (std::optional<Link> link = as_link(value)) return *std::move(link);
  return Value::json(unwrapped(value));
}

}  // namespace veneer::graph
