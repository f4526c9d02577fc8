// An object in a named slot of a model ("model_sampling", "latent_format", ...) with the identity of what it does.
#pragma once

#include <memory>
#include <typeinfo>
#include <utility>

#include "base/fingerprint.h"
#include "veneer/error.h"

namespace veneer::variant {

// A value: shares the immutable object.
class ModelObject {
 public:
  ModelObject() = default;
  // `id`: equal for two objects exactly when they behave alike.
  template <typename T>
  static ModelObject of(Fingerprint id, std::shared_ptr<const T> object) {
    ModelObject out;
    out.id_ = id;
    out.object_ = std::move(object);
    out.type_ = &typeid(T);
    return out;
  }

  const Fingerprint& id() const { return id_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool same_object(const ModelObject& other) const { return object_ == other.object_; }

  // Throws Error(internal) when the slot holds another type.
  template <typename T>
  std::shared_ptr<const T> as() const {
    if (!object_ || *type_ != typeid(T)) throw Error(ErrorCode::internal, "model object: another type is in the slot", {{"want", typeid(T).name()}});
    return std::static_pointer_cast<const T>(object_);
  }

 private:
  Fingerprint id_;
  std::shared_ptr<const void> object_;
  const std::type_info* type_ = nullptr;
};

}  // namespace veneer::variant
