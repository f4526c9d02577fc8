#include "plugins/call_state.h"

#include "plugins/plugin_text.h"

namespace veneer::plugins {
namespace {

// A value's handle: the call's number above these bits, and in them its place in the call, from 1.
constexpr int kPlaceBits = 24;
constexpr uint64_t kMaxValues = (uint64_t{1} << kPlaceBits) - 1;

const graph::Value& no_value() {
  static const graph::Value kNone;
  return kNone;
}

}  // namespace

VeneerValue CallState::handle_of(graph::Value value) {
  if (value.is_none()) return 0;
  if (values.size() >= kMaxValues) throw Error(ErrorCode::invalid, "plug-in: too many values in one call", {{"limit", std::to_string(kMaxValues)}});
  values.push_back(std::move(value));
  return (id << kPlaceBits) | values.size();
}

const graph::Value& CallState::value_of(VeneerValue handle) const {
  if (handle == 0) return no_value();
  const uint64_t place = handle & kMaxValues;
  if (handle >> kPlaceBits != id || place == 0 || place > values.size()) throw EndedHandle();
  return values[place - 1];
}

VeneerText CallState::keep(std::string text) { return as_abi(texts.emplace_back(std::move(text))); }

}  // namespace veneer::plugins
