#include "engine/workflow_models.h"

#include <map>
#include <optional>
#include <utility>

#include "engine/core.h"
#include "nodes/model_choice.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

struct Answer {
  std::optional<registry::Library::Found> found;
  std::string problem;
};

class Resolver {
 public:
  explicit Resolver(registry::Library& library) : library_(library) {}

  const Answer& ask(const std::string& kind, const std::string& reference) {
    const auto key = std::pair(kind, reference);
    const auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    Answer answer;
    try {
      answer.found = library_.try_find(kind, reference);
      const bool plain = registry::parse_reference(reference).kind == registry::ModelReference::Kind::name;
      if (!answer.found && !plain) library_.find(kind, reference);
    } catch (const Error& error) {
      // Names are looked at by validation, which says more about them.
      if (registry::parse_reference(reference).kind != registry::ModelReference::Kind::name) answer.problem = error.text();
    }
    return answers_[key] = std::move(answer);
  }

 private:
  registry::Library& library_;
  std::map<std::pair<std::string, std::string>, Answer> answers_;
};

void resolve_node(const std::string& id, Json& node, const graph::NodeDef& def, Resolver& resolver, std::vector<NamedModel>& out) {
  const auto inputs = node.find("inputs");
  if (inputs == node.end() || !inputs->is_object()) return;
  for (const graph::InputDef& input : def.inputs) {
    const std::string kind(nodes::model_kind_of(input));
    const auto value = kind.empty() ? inputs->end() : inputs->find(input.name);
    if (value == inputs->end() || !value->is_string()) continue;
    NamedModel model{id, def.class_type, input.name, kind, value->get<std::string>(), "", "", "", {}};
    const Answer& answer = resolver.ask(kind, model.reference);
    model.problem = answer.problem;
    if (answer.found) {
      model.name = answer.found->name;
      model.file = answer.found->file;
      *value = model.name;
    }
    out.push_back(std::move(model));
  }
}

}  // namespace

std::vector<NamedModel> resolve_models(Json& prompt, const graph::NodeRegistry& nodes, registry::Library& library) {
  std::vector<NamedModel> out;
  if (!prompt.is_object()) return out;
  Resolver resolver(library);
  for (auto& [id, node] : prompt.get_ref<Json::object_t&>()) {
    if (!node.is_object()) continue;
    const auto class_type = node.find("class_type");
    if (class_type == node.end() || !class_type->is_string()) continue;
    if (const graph::NodeDef* def = nodes.find(class_type->get_ref<const std::string&>())) resolve_node(id, node, *def, resolver, out);
  }
  return out;
}

std::vector<NamedModel> resolve_models(Json& prompt, const Core& core) {
  return resolve_models(prompt, core.registry(), core.environment().get<registry::Library>());
}

}  // namespace veneer::engine
