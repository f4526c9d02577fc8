#include <set>

#include "graph/prompt_run.h"
#include "graph/record_check.h"

namespace veneer::graph {
namespace {
const std::vector<Value>& nothing_yet() {
  static const std::vector<Value> kNone(1);
  return kNone;
}

// Hidden inputs of these types are read from the NodeContext; what a prompt gives for them is not passed on. Others are inputs that the editor does
// not show: an expansion may give them.
bool supplied_by_host(std::string_view type) {
  for (const std::string_view each : {"PROMPT", "DYNPROMPT", "EXTRA_PNGINFO", "UNIQUE_ID", "AUTH_TOKEN_COMFY_ORG", "API_KEY_COMFY_ORG"}) {
    if (type == each) return true;
  }
  return false;
}
}  // namespace

// Whether the node's result is there, perhaps since an equal node made it. Pins it for the run.
bool PromptRun::at_hand(NodeIndex node) {
  RunNode& run_node = graph_[node];
  if (run_node.outcome != nullptr || !run_node.key_known) return run_node.outcome != nullptr;
  run_node.outcome = parts_.cache.find(run_node.key);
  if (run_node.outcome == nullptr || run_node.outcome->ui.is_null()) return run_node.outcome != nullptr;
  const auto* records = environment_.find<RecordCheck>();
  if (records != nullptr && !records->still_true(run_node.view.class_type, run_node.outcome->ui)) {
    parts_.cache.drop(run_node.key);
    run_node.outcome = nullptr;
  }
  return run_node.outcome != nullptr;
}

const std::vector<Value>& PromptRun::values_behind(const Link& link, bool may_be_missing, bool& missing) {
  const NodeIndex behind = graph_.index_of(link.node_id);
  if (behind == kNoNode) throw Error(ErrorCode::not_found, "graph: link names a node that does not exist", {{"link", link.node_id}});
  if (!at_hand(behind)) {
    if (!may_be_missing) throw Error(ErrorCode::internal, "graph: node runs before one that it needs", {{"link", link.node_id}});
    missing = true;
    return nothing_yet();
  }
  const std::vector<Value>* values = RunGraph::output(*graph_[behind].outcome, link.slot);
  if (values == nullptr) {
    throw Error(ErrorCode::invalid, "graph: link names an output that does not exist", {{"link", link.node_id}, {"slot", std::to_string(link.slot)}});
  }
  track(behind, link.slot, *values);
  return *values;
}

void PromptRun::track(NodeIndex behind, int slot, const std::vector<Value>& values) {
  if (!tracker_ || !tracked_.emplace(behind, slot).second) return;
  for (const Value& value : values) tracker_->add(value);
}

Inputs PromptRun::gather(NodeIndex node, std::unordered_set<std::string>& missing) {
  const RunNode& run_node = graph_[node];
  const NodeDef& def = *run_node.view.def;
  Inputs gathered;
  for (const auto& [name, source] : run_node.view.inputs) {
    const InputDef* declared = def.input(name);
    if (declared != nullptr && declared->section == InputSection::hidden && supplied_by_host(declared->type)) continue;
    if (const Value* constant = std::get_if<Value>(&source)) {
      // Undeclared constants of a prompt are not passed on; objects that an expansion puts there are.
      if (declared != nullptr || (def.accepts_any_input && !constant->is_json())) gathered.set(name, *constant);
      continue;
    }
    if (declared == nullptr && !def.accepts_any_input) continue;
    const Link& link = std::get<Link>(source);
    if (RunGraph::is_raw(run_node, name)) {
      gathered.set(name, Value::json(Json::array({link.node_id, link.slot}), "LINK"));
      continue;
    }
    bool absent = false;
    gathered.set_list(name, values_behind(link, RunGraph::is_lazy(run_node, name), absent));
    if (absent) missing.insert(name);
  }
  return gathered;
}

bool PromptRun::wait_for_lazy(NodeIndex node, const Inputs& gathered, const std::unordered_set<std::string>& missing) {
  const RunNode& run_node = graph_[node];
  const NodeDef& def = *run_node.view.def;
  if (!def.check_lazy_status) return false;
  std::set<std::string> wanted;
  const std::vector<Inputs> calls = split_calls(def, gathered);
  for (size_t i = 0; i < calls.size(); ++i) {
    if (blocker_in(calls[i]) != nullptr) continue;
    NodeContext asked = context(node, i);
    for (std::string& name : def.check_lazy_status(asked, calls[i])) wanted.insert(std::move(name));
  }
  bool waits = false;
  for (const std::string& name : wanted) {
    if (gathered.contains(name) && !missing.contains(name)) continue;
    const Link* link = nullptr;
    for (const auto& input : run_node.view.inputs) {
      if (input.first == name) link = std::get_if<Link>(&input.second);
    }
    if (link == nullptr) throw Error(ErrorCode::invalid, "graph: node needs an input that is no link of it", {{"input", name}});
    const NodeIndex behind = graph_.index_of(link->node_id);
    if (behind == kNoNode)
      throw Error(ErrorCode::not_found, "graph: link names a node that does not exist", {{"link", link->node_id}, {"input", name}});
    schedule_.wait_for(node, behind);
    waits = true;
  }
  if (waits) schedule_.resume(node);
  return waits;
}

}  // namespace veneer::graph
