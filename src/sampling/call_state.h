// Values by name that live as long as one call: where functions that many calls share keep what they have to remember during one.
#pragma once

#include <any>
#include <map>
#include <string>
#include <string_view>

#include "veneer/error.h"

namespace veneer::sampling {

// Used by one thread at a time. A name belongs to one type.
class CallState {
 public:
  // The value under `name`, made with T() when there is none. Throws Error(internal) when it is of another type.
  template <typename T>
  T& get(std::string_view name) {
    auto slot = slots_.find(name);
    if (slot == slots_.end()) slot = slots_.emplace(std::string(name), T()).first;
    T* value = std::any_cast<T>(&slot->second);
    if (value == nullptr) throw Error(ErrorCode::internal, "call state: another type is under the name", {{"name", std::string(name)}});
    return *value;
  }

  // Null when there is none, or one of another type.
  template <typename T>
  T* find(std::string_view name) {
    const auto slot = slots_.find(name);
    return slot == slots_.end() ? nullptr : std::any_cast<T>(&slot->second);
  }

 private:
  std::map<std::string, std::any, std::less<>> slots_;
};

}  // namespace veneer::sampling
