#include "graph/node_registry.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <unordered_set>

namespace veneer::graph {
namespace {

constexpr size_t kMaxCompared = 80;  // characters; longer names are no misspelling of a class

std::string lower(std::string_view text) {
  std::string out(text.substr(0, kMaxCompared));
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Levenshtein's distance, row by row.
size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
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
  std::vector<std::pair<size_t, std::string>> scored;
  for (const NodeDef* def : order_) {
    const std::string known = lower(def->class_type);
    const bool contains = wanted.size() >= 3 && (known.find(wanted) != std::string::npos || wanted.find(known) != std::string::npos);
    const size_t distance = edit_distance(wanted, known);
    if (distance <= std::max(wanted.size(), known.size()) / 3 || contains) scored.emplace_back(distance, def->class_type);
  }
  std::ranges::stable_sort(scored, {}, &std::pair<size_t, std::string>::first);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(limit, scored.size()); ++i) names.push_back(scored[i].second);
  return names;
}

}  // namespace veneer::graph
