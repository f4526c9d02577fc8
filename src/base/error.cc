#include "veneer/error.h"

namespace veneer {
namespace {

std::string compose(const std::string& text, const Error::Context& context) {
  std::string out = text;
  const char* separator = ": ";
  for (const auto& [key, value] : context) {
    out += separator;
    out += key;
    out += '=';
    out += value;
    separator = ", ";
  }
  return out;
}

}  // namespace

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return "not_found";
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::corrupt: return "corrupt";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::no_memory: return "no_memory";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::internal: return "internal";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string text, Context context)
    : std::runtime_error(compose(text, context)), code_(code), text_(std::move(text)), context_(std::move(context)) {}

std::string_view Error::find(std::string_view key) const {
  for (const auto& [name, value] : context_) {
    if (name == key) return value;
  }
  return {};
}

Error Error::with(std::string key, std::string value) const {
  Context extended = context_;
  extended.emplace_back(std::move(key), std::move(value));
  return Error(code_, text_, std::move(extended));
}

}  // namespace veneer
