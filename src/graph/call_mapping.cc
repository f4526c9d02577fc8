#include "graph/call_mapping.h"

#include <algorithm>

namespace veneer::graph {
namespace {

void append_value(std::vector<Value>& slot, const OutputDef& output, const Value& value) {
  if (!output.is_list || value.is_blocker()) {
    slot.push_back(value);
    return;
  }
  if (!value.is_list()) {
    throw Error(ErrorCode::invalid, "graph: a list output takes a list", {{"output", output.name}, {"got", std::string(value.type())}});
  }
  slot.insert(slot.end(), value.as_list().begin(), value.as_list().end());
}

}  // namespace

std::vector<Inputs> split_calls(const NodeDef& def, Inputs gathered) {
  std::vector<Inputs> calls;
  if (def.input_is_list || gathered.empty()) {
    calls.push_back(std::move(gathered));
    return calls;
  }
  size_t count = 0;
  for (const auto& [name, values] : gathered.entries()) count = std::max(count, values.size());
  for (const auto& [name, values] : gathered.entries()) {
    if (values.empty() && count > 0) throw Error(ErrorCode::invalid, "graph: input is an empty list while others are not", {{"input", name}});
  }
  calls.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    Inputs& call = calls.emplace_back();
    for (const auto& [name, values] : gathered.entries()) call.set(name, values[std::min(i, values.size() - 1)]);
  }
  return calls;
}

const Value* blocker_in(const Inputs& call) {
  for (const auto& [name, values] : call.entries()) {
    const auto found = std::ranges::find_if(values, &Value::is_blocker);
    if (found != values.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::vector<Value>> merge_outputs(const NodeDef& def, const std::vector<CallResult>& calls, const ResolveLink& resolve) {
  std::vector<std::vector<Value>> outputs(def.outputs.size());
  for (const CallResult& call : calls) {
    const std::vector<Source>& given = call.result.outputs;
    const bool all_blocked = call.blocked || call.result.blocks_all;
    if (!all_blocked && given.size() > outputs.size()) {
      throw Error(ErrorCode::invalid, "graph: node gave more values than it has outputs",
                  {{"want", std::to_string(outputs.size())}, {"got", std::to_string(given.size())}});
    }
    for (size_t slot = 0; slot < outputs.size(); ++slot) {
      if (call.blocked) {
        outputs[slot].push_back(call.blocker);
      } else if (call.result.blocks_all) {
        outputs[slot].push_back(std::get<Value>(given.front()));
      } else if (slot >= given.size()) {
        outputs[slot].emplace_back();
      } else if (const Link* link = std::get_if<Link>(&given[slot])) {
        const std::vector<Value>& values = resolve(*link);
        outputs[slot].insert(outputs[slot].end(), values.begin(), values.end());
      } else {
        append_value(outputs[slot], def.outputs[slot], std::get<Value>(given[slot]));
      }
    }
  }
  return outputs;
}

Json merge_ui(const std::vector<CallResult>& calls) {
  Json merged;
  for (const CallResult& call : calls) {
    const Json& ui = call.result.ui;
    if (call.blocked || !ui.is_object()) continue;
    const bool first = merged.is_null();
    if (first) merged = Json::object();
    for (const auto& [name, value] : ui.get_ref<const Json::object_t&>()) {
      if (first) merged[name] = Json::array();
      const auto member = merged.find(name);
      if (member == merged.end()) continue;
      if (value.is_array()) {
        member->insert(member->end(), value.begin(), value.end());
      } else {
        member->push_back(value);
      }
    }
  }
  return merged;
}

}  // namespace veneer::graph
