// JSON text for plug-ins: writing only. What a plug-in hands over as JSON it may also write itself or with a library of its own.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace veneer::plugin {

// One JSON value as text.
class Json {
 public:
  Json() : text_("null") {}
  Json(std::string_view value) { quote(value); }
  Json(const std::string& value) { quote(value); }
  Json(const char* value) { quote(value); }
  Json(bool value) : text_(value ? "true" : "false") {}
  template <std::integral T>
  Json(T value) : text_(std::to_string(value)) {}
  template <std::floating_point T>
  Json(T value) {
    number(static_cast<double>(value));
  }

  static Json raw(std::string text) {
    Json json;
    json.text_ = std::move(text);
    return json;
  }
  template <typename List>
  static Json list(const List& values) {
    std::string text = "[";
    for (const auto& value : values) text.append(text.size() == 1 ? "" : ",").append(Json(value).text());
    return raw(text + "]");
  }
  static Json list(std::initializer_list<Json> values) { return list(std::vector<Json>(values)); }
  using Member = std::pair<std::string, Json>;
  static Json object(const std::vector<Member>& members) {
    std::string text = "{";
    for (const auto& [name, value] : members) text.append(text.size() == 1 ? "" : ",").append(Json(name).text()).append(":").append(value.text());
    return raw(text + "}");
  }

  const std::string& text() const { return text_; }

 private:
  void quote(std::string_view value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    text_ = "\"";
    for (const char c : value) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (byte < 0x20) {
        text_.append("\\u00").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }
  // Shortest text that reads back as the same double, with a point so that it stays one.
  void number(double value) {
    if (std::isnan(value)) {
      text_ = "NaN";
    } else if (std::isinf(value)) {
      text_ = value > 0 ? "Infinity" : "-Infinity";
    } else {
      char digits[40];
      const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
      text_.assign(digits, end);
      if (text_.find_first_of(".e") == std::string::npos) text_ += ".0";
    }
  }

  std::string text_;
};

}  // namespace veneer::plugin
