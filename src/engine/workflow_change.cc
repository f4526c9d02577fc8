#include "engine/workflow_change.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/fingerprint.h"
#include "graph/json_text.h"

namespace veneer::engine {
namespace {

using graph::Json;

std::string class_of(const Json& node) {
  return node.is_object() && node.contains("class_type") && node["class_type"].is_string() ? node["class_type"].get<std::string>() : "";
}

// One workflow, with a fingerprint of each node and of all that is above it. Constant: it refers to the workflow.
class Graph {
 public:
  explicit Graph(const Json& nodes) {
    if (!nodes.is_object()) return;
    for (const auto& [id, node] : nodes.items()) nodes_.emplace(id, &node);
    for (const auto& [id, node] : nodes.items()) make(id);
  }

  const std::map<std::string, Fingerprint>& fingerprints() const { return done_; }
  std::string class_at(const std::string& id) const { return class_of(*nodes_.at(id)); }

  std::vector<std::string> above(const std::string& id) const {
    std::vector<std::string> out;
    for_inputs(id, [&](const std::string&, const Json& value) {
      if (is_link(value)) out.push_back(value[0].get<std::string>());
    });
    return out;
  }

 private:
  bool is_link(const Json& value) const {
    return value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_number_integer() &&
           nodes_.contains(value[0].get_ref<const std::string&>());
  }

  template <typename Each>
  void for_inputs(const std::string& id, const Each& each) const {
    const Json& node = *nodes_.at(id);
    const auto inputs = node.is_object() ? node.find("inputs") : node.end();
    if (!node.is_object() || inputs == node.end() || !inputs->is_object()) return;
    for (const auto& [name, value] : inputs->items()) each(name, value);
  }

  void make(const std::string& first) {
    std::vector<std::string> stack = {first};
    std::set<std::string> opened;
    while (!stack.empty()) {
      const std::string id = stack.back();
      if (done_.contains(id)) {
        stack.pop_back();
      } else if (opened.insert(id).second) {
        for (std::string& behind : above(id)) {
          if (!done_.contains(behind) && !opened.contains(behind)) stack.push_back(std::move(behind));
        }
      } else {
        done_[id] = fingerprint(id);
        stack.pop_back();
      }
    }
  }

  Fingerprint fingerprint(const std::string& id) const {
    std::map<std::string, const Json*> sorted;
    for_inputs(id, [&](const std::string& name, const Json& value) { sorted[name] = &value; });
    FingerprintBuilder builder;
    builder.add(class_at(id));
    for (const auto& [name, value] : sorted) {
      builder.add(name);
      if (!is_link(*value)) {
        builder.add("constant").add(graph::dump_json(*value));
        continue;
      }
      const auto behind = done_.find((*value)[0].get<std::string>());
      // Not known yet: a cycle.
      builder.add("link").add(behind == done_.end() ? Fingerprint() : behind->second).add((*value)[1].get<int64_t>());
    }
    return builder.finish();
  }

  std::unordered_map<std::string, const Json*> nodes_;
  std::map<std::string, Fingerprint> done_;
};

// Pairs of nodes, each node once.
class Pairs {
 public:
  Pairs(const Graph& before, const Graph& now) : before_(before), now_(now) {}

  std::map<std::string, std::string> find() {
    equal_at_same_id();
    equal_anywhere();
    same_id_and_class();
    only_one_of_a_class();
    return std::move(pairs_);
  }
  // Nodes of `now` that are one of `before`, unchanged.
  const std::set<std::string>& equal() const { return equal_; }

 private:
  bool open(const std::string& earlier, const std::string& id) const { return !pairs_.contains(earlier) && !taken_.contains(id); }
  void pair(const std::string& earlier, const std::string& id) {
    pairs_[earlier] = id;
    taken_.insert(id);
  }

  void equal_at_same_id() {
    for (const auto& [id, print] : before_.fingerprints()) {
      const auto same = now_.fingerprints().find(id);
      if (same == now_.fingerprints().end() || same->second != print) continue;
      pair(id, id);
      equal_.insert(id);
    }
  }

  void equal_anywhere() {
    std::unordered_map<Fingerprint, std::vector<std::string>> places;
    for (const auto& [id, print] : now_.fingerprints()) {
      if (!taken_.contains(id)) places[print].push_back(id);
    }
    for (const auto& [id, print] : before_.fingerprints()) {
      const auto at = places.find(print);
      if (pairs_.contains(id) || at == places.end() || at->second.empty()) continue;
      pair(id, at->second.front());
      equal_.insert(at->second.front());
      at->second.erase(at->second.begin());
    }
  }

  void same_id_and_class() {
    for (const auto& [id, print] : before_.fingerprints()) {
      if (now_.fingerprints().contains(id) && open(id, id) && before_.class_at(id) == now_.class_at(id)) pair(id, id);
    }
  }

  void only_one_of_a_class() {
    std::map<std::string, std::vector<std::string>> left;
    for (const auto& [id, print] : now_.fingerprints()) {
      if (!taken_.contains(id)) left[now_.class_at(id)].push_back(id);
    }
    std::map<std::string, std::vector<std::string>> left_before;
    for (const auto& [id, print] : before_.fingerprints()) {
      if (!pairs_.contains(id)) left_before[before_.class_at(id)].push_back(id);
    }
    for (const auto& [name, ids] : left_before) {
      if (ids.size() == 1 && left[name].size() == 1) pair(ids.front(), left[name].front());
    }
  }

  const Graph& before_;
  const Graph& now_;
  std::map<std::string, std::string> pairs_;
  std::set<std::string> taken_, equal_;
};

// The nodes themselves and all that is behind them.
std::set<std::string> with_all_behind(const Graph& graph, std::vector<std::string> stack) {
  std::map<std::string, std::vector<std::string>> behind;
  for (const auto& [id, print] : graph.fingerprints()) {
    for (const std::string& above : graph.above(id)) behind[above].push_back(id);
  }
  std::set<std::string> out;
  while (!stack.empty()) {
    const std::string id = stack.back();
    stack.pop_back();
    if (!out.insert(id).second) continue;
    const std::vector<std::string>& next = behind[id];
    stack.insert(stack.end(), next.begin(), next.end());
  }
  return out;
}

}  // namespace

WorkflowChange compare_workflows(const Json& before, const Json& now, const NodeChanged& changed) {
  const Graph earlier(before), current(now);
  Pairs pairs(earlier, current);
  WorkflowChange out;
  out.node_ids = pairs.find();
  std::vector<std::string> first;
  for (const auto& [id, print] : current.fingerprints()) {
    if (!pairs.equal().contains(id) || changed(id)) first.push_back(id);
  }
  const std::set<std::string> affected = with_all_behind(current, std::move(first));
  for (const auto& [id, print] : current.fingerprints()) (affected.contains(id) ? out.affected : out.kept).push_back(id);
  return out;
}

}  // namespace veneer::engine
