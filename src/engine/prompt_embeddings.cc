#include "engine/prompt_embeddings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/prompt.h"
#include "models/clip/prompt_tokenizer.h"
#include "registry/nearest_names.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr std::string_view kKind = "embeddings";
// Nodes that one text is looked for in, upstream.
constexpr size_t kMostUpstream = 1000;

bool takes_clip(const graph::NodeDef& def) {
  return std::ranges::any_of(def.inputs, [](const graph::InputDef& input) { return input.type == "CLIP"; });
}

// Classes whose result is the text that they were given.
bool hands_on(const graph::NodeDef& def) { return def.class_type == "PrimitiveString" || def.class_type == "PrimitiveStringMultiline"; }

// The nodes of a prompt by their ids; a prompt itself is searched one by one.
struct NodesById {
  explicit NodesById(const Json& prompt) {
    const auto& members = prompt.get_ref<const Json::object_t&>();
    nodes.reserve(members.size());
    for (const auto& [id, node] : members) nodes.emplace(id, &node);
  }
  const Json* find(const std::string& id) const {
    const auto at = nodes.find(id);
    return at != nodes.end() ? at->second : nullptr;
  }
  std::unordered_map<std::string_view, const Json*> nodes;
};

const graph::NodeDef* def_of(const graph::NodeRegistry& nodes, const Json& node) {
  if (!node.is_object()) return nullptr;
  const auto class_type = node.find("class_type");
  return class_type != node.end() && class_type->is_string() ? nodes.find(class_type->get_ref<const std::string&>()) : nullptr;
}

const Json* input_of(const Json& node, const std::string& name) {
  const auto inputs = node.find("inputs");
  if (inputs == node.end() || !inputs->is_object()) return nullptr;
  const auto value = inputs->find(name);
  return value == inputs->end() ? nullptr : &*value;
}

// Where the text of a link comes from: the first node that does not only hand it on. nullopt for a constant, and for links that lead nowhere.
std::optional<std::string> maker_of(const NodesById& prompt, const graph::NodeRegistry& nodes, const Json* value) {
  for (size_t steps = 0; value != nullptr && steps < kMostUpstream; ++steps) {
    const std::optional<graph::Link> link = graph::as_link(*value);
    const Json* source = link ? prompt.find(link->node_id) : nullptr;
    if (source == nullptr) return std::nullopt;
    const graph::NodeDef* def = def_of(nodes, *source);
    if (def == nullptr) return std::nullopt;  // a class that does not exist is told elsewhere
    if (!hands_on(*def)) return def->class_type + " (" + link->node_id + ")";
    value = input_of(*source, "value");
  }
  return std::nullopt;
}

class Finder {
 public:
  Finder(const Json& prompt, const graph::NodeRegistry& nodes, const registry::Library& library)
      : prompt_(prompt), by_id_(prompt), nodes_(nodes), folders_(library.folders()) {}

  std::vector<NamedModel> run() {
    for (const auto& [id, node] : prompt_.get_ref<const Json::object_t&>()) {
      const graph::NodeDef* def = def_of(nodes_, node);
      if (def == nullptr || !takes_clip(*def)) continue;
      for (const graph::InputDef& input : def->inputs) {
        if (input.type != "STRING") continue;
        std::set<std::string> seen;
        for (const std::string& text : texts_of(node, input.name)) add(id, *def, input.name, text, seen);
      }
    }
    return std::move(out_);
  }

 private:
  // The input's text, or the texts of the nodes that it is linked to.
  std::vector<std::string> texts_of(const Json& node, const std::string& name) const {
    std::vector<std::string> out;
    std::set<std::string> visited;
    std::vector<const Json*> open;
    if (const Json* value = input_of(node, name)) open.push_back(value);
    while (!open.empty() && visited.size() < kMostUpstream) {
      const Json& value = *open.back();
      open.pop_back();
      if (value.is_string()) out.push_back(value.get<std::string>());
      const std::optional<graph::Link> link = graph::as_link(value);
      const Json* source = link ? by_id_.find(link->node_id) : nullptr;
      if (source == nullptr || !visited.insert(link->node_id).second) continue;
      const graph::NodeDef* def = def_of(nodes_, *source);
      if (def == nullptr) continue;
      for (const graph::InputDef& input : def->inputs) {
        const Json* text = input.type == "STRING" || input.type == "*" ? input_of(*source, input.name) : nullptr;
        if (text != nullptr) open.push_back(text);
      }
    }
    return out;
  }

  void add(const std::string& id, const graph::NodeDef& def, const std::string& input, const std::string& text, std::set<std::string>& seen) {
    for (const std::string& name :
         models::embedding_names(text, [&](std::string_view wanted) { return !file_of(std::string(wanted)).name.empty(); })) {
      if (!seen.insert(name).second) continue;
      const File& file = file_of(name);
      out_.push_back({id, def.class_type, input, std::string(kKind), name, file.name, file.path, file.problem, file.nearest});
    }
  }

  struct File {
    std::string name, problem;
    std::filesystem::path path;
    std::vector<std::string> nearest;
  };

  const File& file_of(const std::string& name) {
    const auto known = files_.find(name);
    if (known != files_.end()) return known->second;
    File file;
    try {
      file.name = name.empty() ? std::string() : folders_.embedding_name(name);
      if (!file.name.empty()) file.path = folders_.resolve(kKind, file.name);
      if (file.name.empty()) file.problem = "the prompt names an embedding that does not exist";
    } catch (const Error& error) {
      file.name.clear();
      file.problem = error.what();
    }
    if (file.name.empty()) file.nearest = nearest(name);
    return files_[name] = std::move(file);
  }

  // Prompts name embeddings without their extension.
  std::vector<std::string> nearest(const std::string& name) {
    if (!stems_) {
      stems_.emplace();
      for (const std::string& file : folders_.list(kKind)) stems_->push_back(file.substr(0, file.rfind('.')));
    }
    return registry::nearest_names(name, *stems_);
  }

  const Json& prompt_;
  const NodesById by_id_;
  const graph::NodeRegistry& nodes_;
  const registry::ModelFolders& folders_;
  std::map<std::string, File> files_;
  std::optional<std::vector<std::string>> stems_;
  std::vector<NamedModel> out_;
};

}  // namespace

std::vector<NamedModel> named_embeddings(const Json& prompt, const graph::NodeRegistry& nodes, const registry::Library& library) {
  return prompt.is_object() ? Finder(prompt, nodes, library).run() : std::vector<NamedModel>();
}

std::vector<MadeText> made_texts(const Json& prompt, const graph::NodeRegistry& nodes) {
  std::vector<MadeText> out;
  std::map<std::string, std::optional<std::string>> makers;  // by the node that a text is linked to
  if (!prompt.is_object()) return out;
  const NodesById by_id(prompt);
  for (const auto& [id, node] : prompt.get_ref<const Json::object_t&>()) {
    const graph::NodeDef* def = def_of(nodes, node);
    if (def == nullptr || !takes_clip(*def)) continue;
    for (const graph::InputDef& input : def->inputs) {
      if (input.type != "STRING") continue;
      const Json* value = input_of(node, input.name);
      const std::optional<graph::Link> link = value != nullptr ? graph::as_link(*value) : std::nullopt;
      if (!link) continue;
      const auto [maker, is_new] = makers.try_emplace(link->node_id);
      if (is_new) maker->second = maker_of(by_id, nodes, value);
      if (maker->second) out.push_back({id, def->class_type, input.name, *maker->second});
    }
  }
  return out;
}

}  // namespace veneer::engine
