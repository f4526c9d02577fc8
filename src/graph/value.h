// Value: what travels along the edges of a graph. Immutable, type-erased, shared; a copy costs one reference count.
//
// A value is one of: none; a JSON value (INT, FLOAT, STRING, BOOLEAN, choices, plain JSON); an object of any C++ type, held by
// shared_ptr<const T>; a list of values; or a blocker, which stops the nodes that receive it from running. Copies may be used from any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/fingerprint.h"
#include "graph/json.h"
#include "veneer/error.h"

namespace veneer::graph {

class Value {
 public:
  enum class Kind : uint8_t { none, json, object, list, blocker };

  Value() = default;  // none

  // A JSON value under its natural type name: INT, FLOAT, STRING, BOOLEAN, or JSON for null, arrays and objects.
  static Value json(Json value);
  static Value json(Json value, std::string type);
  static Value integer(int64_t value) { return json(Json(value)); }
  static Value unsigned_integer(uint64_t value) { return json(Json(value)); }
  static Value number(double value) { return json(Json(value)); }
  static Value text(std::string value) { return json(Json(std::move(value))); }
  static Value boolean(bool value) { return json(Json(value)); }

  // Shares `object` under a type name such as "MODEL". A null pointer gives none. `fingerprint`, when given, says that equal fingerprints
  // mean equal content.
  template <typename T>
  static Value object(std::string type, std::shared_ptr<T> object, std::optional<Fingerprint> fingerprint = std::nullopt) {
    if (object == nullptr) return {};
    return make_object(std::move(type), typeid(std::remove_cv_t<T>), std::shared_ptr<const void>(std::move(object)), fingerprint);
  }
  // Moves `content` into a new shared object.
  template <typename T>
  static Value of(std::string type, T content, std::optional<Fingerprint> fingerprint = std::nullopt) {
    return object(std::move(type), std::make_shared<const T>(std::move(content)), fingerprint);
  }

  // A list that travels as one value, and the way an output marked `is_list` hands over its elements.
  static Value list(std::vector<Value> elements);

  // Stops every node that receives it. With a message, the first such node reports it and passes on a silent one.
  static Value blocker() { return make_blocker(std::nullopt); }
  static Value blocker(std::string message) { return make_blocker(std::move(message)); }

  Kind kind() const;
  bool is_none() const { return content_ == nullptr; }
  bool is_json() const { return kind() == Kind::json; }
  bool is_object() const { return kind() == Kind::object; }
  bool is_list() const { return kind() == Kind::list; }
  bool is_blocker() const { return kind() == Kind::blocker; }

  // "INT", "MODEL", "LIST", "BLOCKER", "NONE", ...
  std::string_view type() const;
  const std::optional<Fingerprint>& fingerprint() const;

  // Each throws Error(invalid) with `want` and `got` when the value is of another kind. Numbers convert as Python's int() and float() do
  // (truncation; true is 1); as_text takes only text, as_boolean only booleans and numbers.
  const Json& as_json() const;
  int64_t as_integer() const;
  uint64_t as_unsigned() const;  // seeds: 0 to 2^64 - 1
  double as_number() const;
  bool as_boolean() const;
  const std::string& as_text() const;
  const std::vector<Value>& as_list() const;
  // The message of a blocker; nullopt for a silent one.
  const std::optional<std::string>& blocker_message() const;

  // The object, if it was stored as exactly T. Otherwise Error(invalid).
  template <typename T>
  const T& get() const {
    return *static_cast<const T*>(checked_object(typeid(T)).get());
  }
  template <typename T>
  std::shared_ptr<const T> share() const {
    return std::static_pointer_cast<const T>(checked_object(typeid(T)));
  }
  template <typename T>
  bool holds() const {
    return object_type() == std::type_index(typeid(T));
  }

  // JSON values as they are, everything else as a short text: for error reports.
  Json describe() const;

 private:
  struct Content;
  explicit Value(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  static Value make_object(std::string type, std::type_index object_type, std::shared_ptr<const void> object, std::optional<Fingerprint> fingerprint);
  static Value make_blocker(std::optional<std::string> message);
  const std::shared_ptr<const void>& checked_object(std::type_index want) const;
  std::type_index object_type() const;

  std::shared_ptr<const Content> content_;
};

}  // namespace veneer::graph
