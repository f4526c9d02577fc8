#include "graph/node_registry.h"

#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "base/edit_distance.h"

namespace veneer::graph {
namespace {

constexpr size_t kMaxCompared = 80;  // characters; longer names are no misspelling of a class

std::string lower(std::string_view text) {
  std::string out(text.substr(0, kMaxCompared));
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

NodeRegistry::NodeRegistry(std::vector<NodeDef> defs) {
  for (NodeDef& def : defs) add(std::move(def));
}

void NodeRegistry::add(NodeDef def) {
  const Error::Context where = {{"class", def.class_type}};
  if (def.class_type.empty()) throw Error(ErrorCode::invalid, "graph: node class has no name");
  if (!def.run) throw Error(ErrorCode::invalid, "graph: node class has no run function", where);
  if (by_name_.contains(def.class_type)) throw Error(ErrorCode::invalid, "graph: node class is registered twice", where);
  std::unordered_set<std::string_view> names;
  for (const InputDef& input : def.inputs) {
    if (!names.insert(input.name).second) {
      throw Error(ErrorCode::invalid, "graph: node class has two inputs of one name", where).with("input", input.name);
    }
  }
  auto owned = std::make_unique<const NodeDef>(std::move(def));
  order_.push_back(owned.get());
  by_name_.emplace(owned->class_type, std::move(owned));
}

const NodeDef* NodeRegistry::find(std::string_view class_type) const {
  const auto it = by_name_.find(class_type);
  return it == by_name_.end() ? nullptr : it->second.get();
}

const NodeDef& NodeRegistry::at(std::string_view class_type) const {
  if (const NodeDef* def = find(class_type)) return *def;
  std::string names;
  for (const std::string& name : nearest(class_type)) names += (names.empty() ? "" : " ") + name;
  throw Error(ErrorCode::not_found, "graph: node class does not exist", {{"class", std::string(class_type)}, {"nearest", names}});
}

std::vector<std::string> NodeRegistry::nearest(std::string_view class_type, size_t limit) const {
  const std::string wanted = lower(class_type);
  EditDistance compared(wanted);
  std::vector<std::pair<size_t, std::string>> scored;
  for (const NodeDef* def : order_) {
    const std::string known = lower(def->class_type);
    const bool contains = wanted.size() >= 3 && (known.find(wanted) != std::string::npos || wanted.find(known) != std::string::npos);
    const size_t longer = std::max(wanted.size(), known.size()), most = contains ? longer : longer / 3;
    const size_t distance = compared.to(known, most);
    if (distance <= most) scored.emplace_back(distance, def->class_type);
  }
  std::ranges::stable_sort(scored, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(limit, scored.size()); ++i) names.push_back(scored[i].second);
  return names;
}

}  // namespace veneer::graph
