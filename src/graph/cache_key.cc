#include "graph/cache_key.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <optional>

#include "graph/json_text.h"

namespace veneer::graph {
namespace {

// Whether a NaN is anywhere in it: it does not equal itself. Nesting is bounded where JSON is parsed.
bool has_nan(const Json& json) {
  if (json.is_number_float()) return std::isnan(json.get<double>());
  return json.is_structured() && std::any_of(json.begin(), json.end(), has_nan);
}

// Adds a constant; false if it never equals anything.
bool add_constant(FingerprintBuilder& builder, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::none: builder.add("none"); return true;
    case Value::Kind::json: builder.add("json").add(dump_json(value.as_json())); return !has_nan(value.as_json());
    case Value::Kind::blocker: builder.add("blocker").add(value.blocker_message().value_or("")); return true;
    case Value::Kind::list:
      builder.add("list").add(value.as_list().size());
      return std::ranges::all_of(value.as_list(), [&](const Value& element) { return add_constant(builder, element); });
    case Value::Kind::object:
      if (!value.fingerprint()) return false;
      builder.add("object").add(*value.fingerprint());
      return true;
  }
  return false;
}

}  // namespace

Fingerprint KeyMaker::never() { return FingerprintBuilder().add("never").add(++nonce_).finish(); }

Json KeyMaker::change_of(const RunNode& node) const {
  if (!node.given_change.is_discarded()) return node.given_change;
  if (!node.view.def->change_fingerprint) return nullptr;
  Inputs constants;
  for (const auto& [name, source] : node.view.inputs) {
    if (node.view.def->input(name) == nullptr && !node.view.def->accepts_any_input) continue;
    const Value* constant = std::get_if<Value>(&source);
    constants.set(name, constant == nullptr ? Value() : *constant);
  }
  try {
    return node.view.def->change_fingerprint(environment_, constants);
  } catch (const std::exception& e) {
    remark_(node.ref, std::string("change fingerprint failed: ").append(e.what()));
    return never_same();
  }
}

Fingerprint KeyMaker::key_of(const RunNode& node) {
  const NodeDef& def = *node.view.def;
  const Json change = change_of(node);
  if (change.is_number_float() && std::isnan(change.get<double>())) return never();
  FingerprintBuilder builder;
  builder.add("node").add(node.view.class_type).add(dump_json(change));
  if (def.not_idempotent || def.wants_unique_id()) builder.add("id").add(node.view.id);
  std::vector<size_t> order(node.view.inputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) -> const std::string& { return node.view.inputs[i].first; });
  for (const size_t i : order) {
    const auto& [name, source] = node.view.inputs[i];
    builder.add(name);
    if (const Value* constant = std::get_if<Value>(&source)) {
      if (!add_constant(builder, *constant)) return never();
      continue;
    }
    const Link& link = std::get<Link>(source);
    const NodeIndex behind = graph_.index_of(link.node_id);
    if (behind == kNoNode || !graph_[behind].key_known) return never();  // leads nowhere, or round in a cycle
    builder.add("link").add(graph_[behind].key).add(link.slot);
  }
  return builder.finish();
}

void KeyMaker::make(NodeIndex begin) {
  std::vector<bool> opened(graph_.size() - begin, false);
  std::vector<NodeIndex> stack;
  for (NodeIndex start = begin; start < graph_.size(); ++start) {
    stack.push_back(start);
    while (!stack.empty()) {
      const NodeIndex index = stack.back();
      RunNode& node = graph_[index];
      if (node.key_known) {
        stack.pop_back();
      } else if (!opened[index - begin]) {
        opened[index - begin] = true;
        for (const auto& input : node.view.inputs) {
          const Link* link = std::get_if<Link>(&input.second);
          const NodeIndex behind = link == nullptr ? kNoNode : graph_.index_of(link->node_id);
          if (behind != kNoNode && behind >= begin && !graph_[behind].key_known && !opened[behind - begin]) stack.push_back(behind);
        }
      } else {
        node.key = key_of(node);
        node.key_known = true;
        stack.pop_back();
      }
    }
  }
}

}  // namespace veneer::graph
