// Inputs: the named values that one call of a node receives.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/value.h"

namespace veneer::graph {

// Every input is a list of values. For ordinary nodes the list has one element; nodes with `input_is_list` get all of them. The typed
// getters look at the first element and throw Error(invalid) naming the input when it is absent, none or of another type.
class Inputs {
 public:
  void set(std::string name, Value value);
  void set_list(std::string name, std::vector<Value> values);

  // Present and not none.
  bool has(std::string_view name) const { return !value(name).is_none(); }
  // Present at all, though perhaps none (a link not evaluated yet).
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // The first element, or none.
  const Value& value(std::string_view name) const;
  // All elements; empty when absent.
  const std::vector<Value>& list(std::string_view name) const;

  int64_t integer(std::string_view name) const;
  uint64_t unsigned_integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;
  const Json& json(std::string_view name) const;

  // For optional inputs: `otherwise` when the input is absent or none.
  int64_t integer_or(std::string_view name, int64_t otherwise) const { return has(name) ? integer(name) : otherwise; }
  double number_or(std::string_view name, double otherwise) const { return has(name) ? number(name) : otherwise; }
  bool boolean_or(std::string_view name, bool otherwise) const { return has(name) ? boolean(name) : otherwise; }
  std::string text_or(std::string_view name, std::string otherwise) const { return has(name) ? text(name) : std::move(otherwise); }

  template <typename T>
  const T& get(std::string_view name) const {
    return typed(name, [](const Value& v) -> const T& { return v.get<T>(); });
  }
  template <typename T>
  std::shared_ptr<const T> share(std::string_view name) const {
    return typed(name, [](const Value& v) { return v.share<T>(); });
  }
  // nullptr when absent or none.
  template <typename T>
  std::shared_ptr<const T> share_or_null(std::string_view name) const {
    return has(name) ? share<T>(name) : nullptr;
  }

  using Entry = std::pair<std::string, std::vector<Value>>;
  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

 private:
  const std::vector<Value>* find(std::string_view name) const;
  const Value& required(std::string_view name) const;
  template <typename Get>
  auto typed(std::string_view name, Get get) const -> decltype(get(std::declval<const Value&>())) {
    try {
      return get(required(name));
    } catch (const Error& e) {
      if (!e.find("input").empty()) throw;
      throw e.with("input", std::string(name));
    }
  }

  std::vector<Entry> entries_;
};

}  // namespace veneer::graph
