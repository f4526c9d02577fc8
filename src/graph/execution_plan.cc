#include "graph/execution_plan.h"

#include <algorithm>
#include <optional>

#include "graph/cache_key.h"
#include "graph/run_graph.h"
#include "graph/schedule.h"

namespace veneer::graph {
namespace {

std::vector<Fingerprint> keys_of(const Prompt& prompt, const NodeRegistry& registry, const Environment& environment, uint64_t nonce) {
  RunGraph graph(prompt, registry);
  KeyMaker(graph, environment, nonce, [](const NodeRef&, const std::string&) {}).make(0);
  std::vector<Fingerprint> keys;
  for (NodeIndex i = 0; i < graph.size(); ++i) keys.push_back(graph[i].key);
  return keys;
}

std::vector<std::string> dependencies_of(const PromptNode& node, const Prompt& prompt) {
  std::vector<std::string> ids;
  const Json* inputs = node.inputs();
  if (inputs == nullptr) return ids;
  for (const Json& value : *inputs) {
    const std::optional<Link> link = as_link(value);
    if (link && prompt.find(link->node_id) != nullptr && std::ranges::find(ids, link->node_id) == ids.end()) ids.push_back(link->node_id);
  }
  return ids;
}

// Takes what is ready until nothing is.
void drain(Schedule& schedule, std::vector<bool>& done, std::vector<NodeIndex>& order) {
  for (NodeIndex node = schedule.take(); node != kNoNode; node = schedule.take()) {
    schedule.done(node);
    done[node] = true;
    order.push_back(node);
  }
}

}  // namespace

std::vector<PlannedStep> execution_plan(const Prompt& prompt, const NodeRegistry& registry, const Environment& environment) {
  // A key that never occurs again differs from one making to the next.
  const std::vector<Fingerprint> keys = keys_of(prompt, registry, environment, 0);
  const std::vector<Fingerprint> again = keys_of(prompt, registry, environment, uint64_t{1} << 32U);
  const RunGraph graph(prompt, registry);
  std::vector<bool> done(graph.size(), false);
  Schedule schedule(graph, [&](NodeIndex node) { return done[node]; });
  std::vector<NodeIndex> order;
  for (NodeIndex i = 0; i < graph.size(); ++i) {
    if (graph[i].view.def->output_node) schedule.want(i);
  }
  drain(schedule, done, order);
  // Behind the lazy inputs of what runs.
  for (size_t i = 0; i < order.size(); ++i) {
    for (const auto& [name, source] : graph[order[i]].view.inputs) {
      const Link* link = std::get_if<Link>(&source);
      const NodeIndex behind = link == nullptr ? kNoNode : graph.index_of(link->node_id);
      if (behind == kNoNode || done[behind]) continue;
      schedule.want(behind);
      drain(schedule, done, order);
    }
  }
  std::vector<bool> waiting(graph.size(), false);
  for (const NodeIndex node : schedule.find_cycle()) waiting[node] = true;
  std::vector<PlannedStep> steps;
  const auto add = [&](NodeIndex node, bool runs) {
    const bool stable = keys[node] == again[node];
    steps.push_back({node, runs, waiting[node], stable ? keys[node].hex() : "", dependencies_of(prompt.nodes()[node], prompt)});
  };
  for (const NodeIndex node : order) add(node, true);
  for (NodeIndex i = 0; i < graph.size(); ++i) {
    if (!done[i]) add(i, false);
  }
  return steps;
}

}  // namespace veneer::graph
