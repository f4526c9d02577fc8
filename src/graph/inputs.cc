#include "graph/inputs.h"

namespace veneer::graph {
namespace {
const Value& no_value() {
  static const Value kNone;
  return kNone;
}
}  // namespace

void Inputs::set(std::string name, Value value) {
  std::vector<Value> values;
  values.push_back(std::move(value));
  set_list(std::move(name), std::move(values));
}

void Inputs::set_list(std::string name, std::vector<Value> values) {
  for (Entry& entry : entries_) {
    if (entry.first == name) {
      entry.second = std::move(values);
      return;
    }
  }
  entries_.emplace_back(std::move(name), std::move(values));
}

const std::vector<Value>* Inputs::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.first == name) return &entry.second;
  }
  return nullptr;
}

const Value& Inputs::value(std::string_view name) const {
  const std::vector<Value>* values = find(name);
  return values == nullptr || values->empty() ? no_value() : values->front();
}

const std::vector<Value>& Inputs::list(std::string_view name) const {
  static const std::vector<Value> kEmpty;
  const std::vector<Value>* values = find(name);
  return values == nullptr ? kEmpty : *values;
}

const Value& Inputs::required(std::string_view name) const {
  const Value& found = value(name);
  if (found.is_none()) throw Error(ErrorCode::invalid, "graph: input is missing", {{"input", std::string(name)}});
  return found;
}

int64_t Inputs::integer(std::string_view name) const {
  return typed(name, [](const Value& v) { return v.as_integer(); });
}

uint64_t Inputs::unsigned_integer(std::string_view name) const {
  return typed(name, [](const Value& v) { return v.as_unsigned(); });
}

double Inputs::number(std::string_view name) const {
  return typed(name, [](const Value& v) { return v.as_number(); });
}

bool Inputs::boolean(std::string_view name) const {
  return typed(name, [](const Value& v) { return v.as_boolean(); });
}

std::string Inputs::text(std::string_view name) const {
  return typed(name, [](const Value& v) { return v.as_text(); });
}

const Json& Inputs::json(std::string_view name) const {
  return typed(name, [](const Value& v) -> const Json& { return v.as_json(); });
}

}  // namespace veneer::graph
