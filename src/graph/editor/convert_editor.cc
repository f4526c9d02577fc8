#include "graph/editor/convert_editor.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "graph/editor/editor_scopes.h"
#include "graph/editor/editor_tracer.h"
#include "graph/editor/widget_values.h"

namespace veneer::graph {
namespace {

constexpr size_t kMaxRemarks = 1000;

using Members = std::vector<Json::object_t::value_type>;

// 8-4-4-4-12 hexadecimal digits, as the editor names definitions of subgraphs.
bool looks_like_uuid(const std::string& type) {
  return type.size() == 36 && type[8] == '-' && type[13] == '-' &&
         std::ranges::all_of(type, [](unsigned char c) { return c == '-' || std::isxdigit(c) != 0; });
}

class Converter {
 public:
  Converter(const std::vector<EditorScope>& scopes, const NodeRegistry& registry, EditorConversion& out)
      : scopes_(scopes), registry_(registry), tracer_(scopes), out_(out) {}

  void run() {
    Json::object_t prompt;
    for (uint32_t scope = 0; scope < scopes_.size(); ++scope) {
      const EditorGraph& graph = *scopes_[scope].graph;
      for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
        const EditorNode& node = graph.nodes[i];
        if (node.mode != EditorMode::active || is_editor_only(node.type) || scopes_[scope].children.contains(i)) continue;
        // Ids are unique in each graph, and prefixes among scopes.
        static_cast<Members&>(prompt).emplace_back(scopes_[scope].prefix + node.id, convert(scope, i));
      }
    }
    out_.prompt = Json(std::move(prompt));
  }

 private:
  void remark(EditorRemark remark) {
    if (out_.remarks.size() < kMaxRemarks) out_.remarks.push_back(std::move(remark));
  }

  void remark_class(const std::string& id, const EditorNode& node) {
    std::string text = looks_like_uuid(node.type) ? "the definition of this subgraph is not in the workflow" : "there is no node class of that name";
    if (node.type.starts_with("workflow/") || node.type.starts_with("workflow>")) {
      text = "group nodes of older editors are not opened: ungroup them, or convert them to a subgraph, in the editor";
    }
    if (!nearest_.contains(node.type)) nearest_[node.type] = registry_.nearest(node.type, 1);
    const std::vector<std::string>& nearest = nearest_[node.type];
    if (!nearest.empty()) text += "; the nearest is " + nearest.front();
    remark({id, node.type, "", "unknown_class", std::move(text), true});
  }

  // Linked inputs by name. Those whose links lead to nothing are told of.
  std::vector<std::pair<std::string, Json>> linked_inputs(uint32_t scope, uint32_t index, const std::string& id) {
    const EditorNode& node = scopes_[scope].graph->nodes[index];
    std::vector<std::pair<std::string, Json>> linked;
    for (size_t slot = 0; slot < node.inputs.size(); ++slot) {
      const EditorSlot& input = node.inputs[slot];
      if (!input.link || input.name.empty()) continue;
      const EditorSource source = tracer_.input(scope, index, slot);
      switch (source.kind) {
        case EditorSource::Kind::output:
          linked.emplace_back(input.name,
                              Json::array({scopes_[source.scope].prefix + scopes_[source.scope].graph->nodes[source.node].id, source.slot}));
          break;
        case EditorSource::Kind::value: linked.emplace_back(input.name, constant(*source.value)); break;
        case EditorSource::Kind::nothing:
          // A widget still has its own value, which is what the editor takes then.
          if (input.widget.empty()) remark({id, node.type, input.name, "no_source", std::string(source.reason), false});
          break;
      }
    }
    return linked;
  }

  // An array by itself would read as a link.
  static Json constant(const Json& value) { return value.is_array() ? Json{{"__value__", value}} : value; }

  Json convert(uint32_t scope, uint32_t index) {
    const EditorNode& node = scopes_[scope].graph->nodes[index];
    const std::string id = scopes_[scope].prefix + node.id;
    const NodeDef* def = registry_.find(node.type);
    if (def == nullptr) remark_class(id, node);
    std::vector<std::pair<std::string, Json>> linked = linked_inputs(scope, index, id);
    WidgetValues widgets = widget_values(node, def);
    std::set<std::string, std::less<>> names;
    for (const auto& [name, value] : linked) names.insert(name);
    for (EditorRemark& found : widgets.remarks) {
      if (names.contains(found.input)) continue;
      found.node = id;
      found.class_type = node.type;
      remark(std::move(found));
    }
    Json::object_t inputs;
    auto& members = static_cast<Members&>(inputs);
    for (auto& [name, value] : widgets.values) {
      if (names.insert(name).second) members.emplace_back(name, constant(value));
    }
    std::set<std::string, std::less<>> added;
    for (auto& [name, value] : linked) {
      if (added.insert(name).second) members.emplace_back(std::move(name), std::move(value));
    }
    Json out = Json::object();
    out["inputs"] = std::move(inputs);
    out["class_type"] = node.type;
    out["_meta"] = {{"title", node.title.empty() ? node.type : node.title}};
    return out;
  }

  const std::vector<EditorScope>& scopes_;
  const NodeRegistry& registry_;
  EditorTracer tracer_;
  EditorConversion& out_;
  std::unordered_map<std::string, std::vector<std::string>> nearest_;  // each class is looked up once
};

}  // namespace

bool EditorConversion::complete() const { return std::ranges::none_of(remarks, &EditorRemark::loss); }

EditorConversion convert_editor_workflow(const Json& workflow, const NodeRegistry& registry, const PromptLimits& limits) {
  const EditorWorkflow read = read_editor_workflow(workflow, limits);
  EditorConversion out;
  const std::vector<EditorScope> scopes = open_scopes(read, limits, out.remarks);
  Converter(scopes, registry, out).run();
  return out;
}

}  // namespace veneer::graph
