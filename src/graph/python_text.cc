#include "graph/python_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "veneer/error.h"

namespace veneer::graph {
namespace {

constexpr int kMaxDepth = 1000;

// Digits and decimal exponent of the shortest form: value = 0.d1d2d3... * 10^point.
struct Decimal {
  std::string digits;
  int point = 0;
};

Decimal shortest(double magnitude) {
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, std::chars_format::scientific).ptr;
  const std::string text(buffer.data(), end);
  const size_t e = text.find('e');
  Decimal decimal;
  for (const char c : text.substr(0, e)) {
    if (c != '.') decimal.digits += c;
  }
  decimal.point = std::atoi(text.c_str() + e + 1) + 1;
  return decimal;
}

std::string finite_repr(double value) {
  const auto [digits, point] = shortest(std::fabs(value));
  const int count = static_cast<int>(digits.size());
  std::string text;
  if (std::signbit(value)) text += '-';
  if (point > -4 && point <= 0) {
    text += "0.";
    text.append(static_cast<size_t>(-point), '0');
    text += digits;
  } else if (point > 0 && point <= 16) {
    const auto whole = static_cast<size_t>(point);
    text += digits.substr(0, whole);
    if (count <= point) {
      text.append(whole - digits.size(), '0');
      text += ".0";
    } else {
      text += '.';
      text += digits.substr(whole);
    }
  } else {
    text += digits[0];
    if (count > 1) {
      text += '.';
      text += digits.substr(1);
    }
    const int exponent = point - 1;
    text += exponent < 0 ? "e-" : "e+";
    if (std::abs(exponent) < 10) text += '0';
    text += std::to_string(std::abs(exponent));
  }
  return text;
}

std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr char kDigits[] = "0123456789abcdef";
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    } else {
      out += c;
    }
  }
  return out + quote;
}

void append_repr(std::string& out, const Json& value, int depth) {
  if (depth > kMaxDepth) throw Error(ErrorCode::invalid, "json: value is nested too deep to be written");
  if (value.is_null()) {
    out += "None";
  } else if (value.is_boolean()) {
    out += value.get<bool>() ? "True" : "False";
  } else if (value.is_number_float()) {
    out += python_float(value.get<double>());
  } else if (value.is_string()) {
    out += quoted(value.get_ref<const std::string&>());
  } else if (value.is_array()) {
    out += '[';
    const char* separator = "";
    for (const Json& element : value) {
      out += separator;
      append_repr(out, element, depth + 1);
      separator = ", ";
    }
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [name, member] : value.get_ref<const Json::object_t&>()) {
      out += separator + quoted(name) + ": ";
      append_repr(out, member, depth + 1);
      separator = ", ";
    }
    out += '}';
  } else {
    out += value.dump();
  }
}

}  // namespace

std::string python_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return finite_repr(value);
}

std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return finite_repr(value);
}

std::string whole_number(double value) {
  std::array<char, 512> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::trunc(value), std::chars_format::fixed, 0).ptr;
  return std::string(buffer.data(), end);
}

std::string python_repr(const Json& value) {
  std::string out;
  append_repr(out, value, 0);
  return out;
}

std::string python_str(const Json& value) { return value.is_string() ? value.get<std::string>() : python_repr(value); }

std::string python_type(const Json& value) {
  if (value.is_null()) return "NoneType";
  if (value.is_boolean()) return "bool";
  if (value.is_number_float()) return "float";
  if (value.is_number()) return "int";
  if (value.is_string()) return "str";
  return value.is_array() ? "list" : "dict";
}

uint32_t next_code_point(const std::string& text, size_t& i) {
  const auto byte = [&](size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  const uint32_t first = byte(i);
  const int extra = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : -1;
  bool good = extra >= 0;
  uint32_t code = extra <= 0 ? first : first & (0x3fU >> extra);
  for (int k = 1; good && k <= extra; ++k) {
    const uint32_t next = byte(i + static_cast<size_t>(k));
    good = (next & 0xc0) == 0x80;
    code = (code << 6) | (next & 0x3f);
  }
  constexpr std::array<uint32_t, 4> kSmallest = {0, 0x80, 0x800, 0x10000};
  good = good && code >= kSmallest[static_cast<size_t>(extra)] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  if (!good) throw Error(ErrorCode::invalid, "json: text is not UTF-8", {{"at", std::to_string(i)}});
  i += static_cast<size_t>(extra) + 1;
  return code;
}

}  // namespace veneer::graph
