#include "engine/prompt_embeddings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
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

class Finder {
 public:
  Finder(const Json& prompt, const graph::NodeRegistry& nodes, const registry::Library& library)
      : prompt_(prompt), nodes_(nodes), folders_(library.folders()) {}

  std::vector<NamedModel> run() {
    for (const auto& [id, node] : prompt_.get_ref<const Json::object_t&>()) {
      const graph::NodeDef* def = def_of(node);
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
  const graph::NodeDef* def_of(const Json& node) const {
    if (!node.is_object()) return nullptr;
    const auto class_type = node.find("class_type");
    return class_type != node.end() && class_type->is_string() ? nodes_.find(class_type->get_ref<const std::string&>()) : nullptr;
  }

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
      const auto source = link ? prompt_.find(link->node_id) : prompt_.end();
      if (source == prompt_.end() || !visited.insert(link->node_id).second) continue;
      const graph::NodeDef* def = def_of(*source);
      if (def == nullptr) continue;
      for (const graph::InputDef& input : def->inputs) {
        const Json* text = input.type == "STRING" || input.type == "*" ? input_of(*source, input.name) : nullptr;
        if (text != nullptr) open.push_back(text);
      }
    }
    return out;
  }

  static const Json* input_of(const Json& node, const std::string& name) {
    const auto inputs = node.find("inputs");
    if (inputs == node.end() || !inputs->is_object()) return nullptr;
    const auto value = inputs->find(name);
    return value == inputs->end() ? nullptr : &*value;
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

}  // namespace veneer::engine
