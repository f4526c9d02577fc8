#include "engine/dump_graph.h"

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/graph_drawing.h"
#include "engine/prompt_embeddings.h"
#include "engine/stand_ins.h"
#include "engine/workflow_input.h"
#include "engine/workflow_models.h"
#include "graph/execution_plan.h"
#include "graph/json_text.h"
#include "registry/library.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

using graph::Json;

constexpr size_t kMostDrawn = 5000;
constexpr size_t kLinesOfANode = 4;

struct Graph {
  graph::Prompt prompt;
  std::vector<graph::PlannedStep> steps;
  std::multimap<std::string, NamedModel, std::less<>> models;  // by node
  std::unordered_map<std::string, std::vector<std::string>> unknown;
  graph::NodeRegistry nodes;
};

Graph read_graph(std::string_view workflow, const graph::NodeRegistry& nodes, const graph::Environment& environment) {
  WorkflowInput input = read_workflow(workflow, nodes);
  Graph out;
  const auto add = [&out](std::vector<NamedModel> models) {
    for (NamedModel& model : models) {
      std::string id = model.node;
      out.models.emplace(std::move(id), std::move(model));
    }
  };
  auto& library = environment.get<registry::Library>();
  add(resolve_models(input.prompt, nodes, library));
  add(named_embeddings(input.prompt, nodes, library));
  StandIns stand_ins = with_stand_ins(input.prompt, nodes, false);
  out.prompt = graph::Prompt::from_json(std::move(input.prompt));
  out.nodes = std::move(stand_ins.nodes);
  out.unknown = std::move(stand_ins.unknown);
  out.steps = graph::execution_plan(out.prompt, out.nodes, environment);
  return out;
}

std::string title_of(const graph::PromptNode& node) {
  const auto meta = node.members.find("_meta");
  if (meta == node.members.end() || !meta->is_object()) return node.class_type;
  const auto title = meta->find("title");
  return title != meta->end() && title->is_string() ? title->get<std::string>() : node.class_type;
}

Json models_json(const Graph& graph, const std::string& id) {
  Json out = Json::array();
  const auto [first, last] = graph.models.equal_range(id);
  for (auto it = first; it != last; ++it) {
    const NamedModel& model = it->second;
    Json entry = {{"input", model.input}, {"kind", model.kind}, {"reference", model.reference}};
    entry["name"] = model.name.empty() ? Json() : Json(model.name);
    entry["file"] = model.file.empty() ? Json() : Json(model.file.string());
    out.push_back(std::move(entry));
  }
  return out;
}

std::string graph_json(const Graph& graph) {
  Json nodes = Json::array();
  for (const graph::PlannedStep& step : graph.steps) {
    const graph::PromptNode& node = graph.prompt.nodes()[step.node];
    const graph::NodeDef* def = graph.nodes.find(node.class_type);
    Json entry = {{"id", node.id}, {"class_type", node.class_type}, {"title", title_of(node)}};
    entry["inputs"] = node.inputs() == nullptr ? Json::object() : *node.inputs();
    entry["depends_on"] = step.depends_on;
    entry["models"] = models_json(graph, node.id);
    entry["signature"] = step.signature.empty() ? Json() : Json(step.signature);
    entry["output"] = def->output_node;
    entry["runs"] = step.runs;
    entry["known"] = !graph.unknown.contains(node.class_type);
    entry["in_cycle"] = step.in_cycle;
    nodes.push_back(std::move(entry));
  }
  return Json{{"nodes", std::move(nodes)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> lines_of(const graph::PromptNode& node) {
  std::vector<std::string> lines;
  if (node.inputs() == nullptr) return lines;
  for (const auto& [name, value] : node.inputs()->get_ref<const Json::object_t&>()) {
    if (graph::as_link(value) || lines.size() == kLinesOfANode) continue;
    lines.push_back(name + ": " + (value.is_string() ? value.get<std::string>() : graph::dump_json(value)));
  }
  return lines;
}

Drawing drawing_of(const Graph& graph) {
  if (graph.prompt.size() > kMostDrawn) {
    throw Error(ErrorCode::unsupported, "the workflow has too many nodes for a picture",
                {{"nodes", std::to_string(graph.prompt.size())}, {"limit", std::to_string(kMostDrawn)}});
  }
  Drawing drawing;
  std::unordered_map<std::string, size_t> index;
  for (const graph::PlannedStep& step : graph.steps) {
    const graph::PromptNode& node = graph.prompt.nodes()[step.node];
    index[node.id] = drawing.nodes.size();
    drawing.nodes.push_back({node.id, node.id + "  " + title_of(node), lines_of(node), graph.nodes.find(node.class_type)->output_node, step.runs});
  }
  for (const graph::PromptNode& node : graph.prompt.nodes()) {
    if (node.inputs() == nullptr) continue;
    for (const auto& [name, value] : node.inputs()->get_ref<const Json::object_t&>()) {
      const std::optional<graph::Link> link = graph::as_link(value);
      const auto from = link ? index.find(link->node_id) : index.end();
      if (from != index.end()) drawing.edges.push_back({from->second, index.at(node.id), name});
    }
  }
  return drawing;
}

}  // namespace

std::string dump_graph(std::string_view workflow, GraphFormat format, const graph::NodeRegistry& nodes, const graph::Environment& environment) {
  const Graph graph = read_graph(workflow, nodes, environment);
  switch (format) {
    case GraphFormat::dot: return to_dot(drawing_of(graph));
    case GraphFormat::svg: return to_svg(drawing_of(graph));
    case GraphFormat::json: break;
  }
  return graph_json(graph);
}

}  // namespace veneer::engine
