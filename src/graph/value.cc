#include "graph/value.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "tensor/tensor.h"

namespace veneer::graph {

struct Value::Content {
  Kind kind;
  std::string type;
  Json json;
  std::type_index object_type = typeid(void);
  std::shared_ptr<const void> object;
  std::optional<Fingerprint> fingerprint;
  std::vector<Value> elements;
  std::optional<std::string> message;
};

namespace {

// The C++ type as people write it, without its namespaces: "ClipValue".
std::string readable_name(std::type_index type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? demangled.get() : type.name();
  const size_t scope = name.rfind("::", name.find('<'));
  return scope == std::string::npos ? name : name.substr(scope + 2);
}

std::string natural_type(const Json& value) {
  if (value.is_boolean()) return "BOOLEAN";
  if (value.is_number_integer()) return "INT";
  if (value.is_number_float()) return "FLOAT";
  if (value.is_string()) return "STRING";
  return "JSON";
}

[[noreturn]] void wrong_kind(const std::string& want, const Value& got) {
  throw Error(ErrorCode::invalid, "graph: value has another type", {{"want", want}, {"got", std::string(got.type())}});
}

constexpr double kTwo63 = 9223372036854775808.0;

}  // namespace

Value Value::json(Json value) {
  std::string type = natural_type(value);
  return json(std::move(value), std::move(type));
}

Value Value::json(Json value, std::string type) {
  Content content{
      .kind = Kind::json, .type = std::move(type), .json = std::move(value), .object = nullptr, .fingerprint = {}, .elements = {}, .message = {}};
  return Value(std::make_shared<const Content>(std::move(content)));
}

Value Value::list(std::vector<Value> elements) {
  Content content{
      .kind = Kind::list, .type = "LIST", .json = {}, .object = nullptr, .fingerprint = {}, .elements = std::move(elements), .message = {}};
  return Value(std::make_shared<const Content>(std::move(content)));
}

Value Value::make_object(std::string type, std::type_index object_type, std::shared_ptr<const void> object, std::optional<Fingerprint> fingerprint) {
  Content content{.kind = Kind::object,
                  .type = std::move(type),
                  .json = {},
                  .object_type = object_type,
                  .object = std::move(object),
                  .fingerprint = fingerprint,
                  .elements = {},
                  .message = {}};
  return Value(std::make_shared<const Content>(std::move(content)));
}

Value Value::make_blocker(std::optional<std::string> message) {
  Content content{
      .kind = Kind::blocker, .type = "BLOCKER", .json = {}, .object = nullptr, .fingerprint = {}, .elements = {}, .message = std::move(message)};
  return Value(std::make_shared<const Content>(std::move(content)));
}

Value::Kind Value::kind() const { return content_ == nullptr ? Kind::none : content_->kind; }

std::string_view Value::type() const { return content_ == nullptr ? std::string_view("NONE") : std::string_view(content_->type); }

const std::optional<Fingerprint>& Value::fingerprint() const {
  static const std::optional<Fingerprint> kNone;
  return content_ == nullptr ? kNone : content_->fingerprint;
}

const Json& Value::as_json() const {
  if (!is_json()) wrong_kind("JSON", *this);
  return content_->json;
}

int64_t Value::as_integer() const {
  if (is_json()) {
    const Json& j = content_->json;
    if (j.is_boolean()) return j.get<bool>() ? 1 : 0;
    if (j.is_number_unsigned() && j.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) {
      throw Error(ErrorCode::invalid, "graph: integer does not fit 64 bits with a sign", {{"value", j.dump()}});
    }
    if (j.is_number_integer()) return j.get<int64_t>();
    if (j.is_number_float()) {
      const double truncated = std::trunc(j.get<double>());
      if (truncated >= -kTwo63 && truncated < kTwo63) return static_cast<int64_t>(truncated);
      throw Error(ErrorCode::invalid, "graph: number does not fit 64 bits with a sign", {{"value", std::to_string(j.get<double>())}});
    }
  }
  wrong_kind("INT", *this);
}

uint64_t Value::as_unsigned() const {
  if (is_json() && content_->json.is_number_unsigned()) return content_->json.get<uint64_t>();
  const int64_t value = as_integer();
  if (value < 0) throw Error(ErrorCode::invalid, "graph: integer is negative", {{"value", std::to_string(value)}});
  return static_cast<uint64_t>(value);
}

double Value::as_number() const {
  if (is_json()) {
    const Json& j = content_->json;
    if (j.is_boolean()) return j.get<bool>() ? 1.0 : 0.0;
    if (j.is_number()) return j.get<double>();
  }
  wrong_kind("FLOAT", *this);
}

bool Value::as_boolean() const {
  if (is_json()) {
    const Json& j = content_->json;
    if (j.is_boolean()) return j.get<bool>();
    if (j.is_number_integer()) return j.get<int64_t>() != 0;
    if (j.is_number_float()) return j.get<double>() != 0.0;
  }
  wrong_kind("BOOLEAN", *this);
}

const std::string& Value::as_text() const {
  if (!is_json() || !content_->json.is_string()) wrong_kind("STRING", *this);
  return content_->json.get_ref<const std::string&>();
}

const std::vector<Value>& Value::as_list() const {
  if (!is_list()) wrong_kind("LIST", *this);
  return content_->elements;
}

const std::optional<std::string>& Value::blocker_message() const {
  if (!is_blocker()) wrong_kind("BLOCKER", *this);
  return content_->message;
}

const std::shared_ptr<const void>& Value::checked_object(std::type_index want) const {
  if (!is_object() || content_->object_type != want) wrong_kind(readable_name(want), *this);
  return content_->object;
}

std::type_index Value::object_type() const { return is_object() ? content_->object_type : std::type_index(typeid(void)); }

Json Value::describe() const {
  switch (kind()) {
    case Kind::none: return nullptr;
    case Kind::json: return content_->json;
    case Kind::list: return "<LIST of " + std::to_string(content_->elements.size()) + ">";
    case Kind::blocker: return "<BLOCKER>";
    case Kind::object: break;
  }
  if (holds<Tensor>()) {
    const Tensor& tensor = get<Tensor>();
    return "<" + content_->type + " " + tensor.shape().to_string() + " " + std::string(to_string(tensor.dtype())) + ">";
  }
  return "<" + content_->type + ">";
}

}  // namespace veneer::graph
