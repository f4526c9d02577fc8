// Environment: how nodes reach the engine's services (model registry, devices, folders, ...) although `graph` knows none of them.
#pragma once

#include <memory>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>

#include "veneer/error.h"

namespace veneer::graph {

// A set of services, one per C++ type, filled once by the composition root and read-only afterwards (then safe from any thread; the services
// themselves say what they allow). An interface is registered as `add<Interface>(implementation)`.
class Environment {
 public:
  template <typename T>
  void add(std::shared_ptr<T> service) {
    services_[std::type_index(typeid(T))] = std::move(service);
  }

  // nullptr when no such service was added.
  template <typename T>
  T* find() const {
    const auto it = services_.find(std::type_index(typeid(T)));
    return it == services_.end() ? nullptr : static_cast<T*>(it->second.get());
  }

  // Throws Error(internal) when no such service was added.
  template <typename T>
  T& get() const {
    if (T* service = find<T>()) return *service;
    throw Error(ErrorCode::internal, "graph: service is not registered", {{"type", typeid(T).name()}});
  }

 private:
  std::unordered_map<std::type_index, std::shared_ptr<void>> services_;
};

}  // namespace veneer::graph
