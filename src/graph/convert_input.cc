#include "graph/convert_input.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "graph/python_text.h"

namespace veneer::graph {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;
constexpr size_t kMaxDigits = 4300;  // Python's own limit for text to integer

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Without underscores between digits ("1_000"), as Python allows them. nullopt where one stands elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

// from_chars knows no plus sign.
std::string_view without_plus(std::string_view text) {
  if (text.size() >= 2 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  return text;
}

Conversion failed(std::string reason) { return {nullptr, std::move(reason)}; }

Conversion text_to_int(const std::string& given) {
  const std::string reason = "invalid literal for int() with base 10: " + python_repr(given);
  const std::optional<std::string> plain = without_underscores(stripped(given));
  if (!plain) return failed(reason);
  const std::string_view text = without_plus(*plain);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) return failed(reason);
  if (digits.size() > kMaxDigits) return failed("Exceeds the limit (4300 digits) for integer string conversion");
  int64_t small = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), small).ec == std::errc{}) return {small, ""};
  uint64_t large = 0;
  if (text.size() == digits.size() && std::from_chars(text.data(), text.data() + text.size(), large).ec == std::errc{}) return {large, ""};
  double huge = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), huge).ec == std::errc{}) return {huge, ""};
  return failed("int too large to convert to float");
}

Conversion to_int(const Json& value) {
  if (value.is_boolean()) return {value.get<bool>() ? 1 : 0, ""};
  if (value.is_number_integer()) return {value, ""};
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::isnan(number)) return failed("cannot convert float NaN to integer");
    if (std::isinf(number)) return failed("cannot convert float infinity to integer");
    const double whole = std::trunc(number);
    if (whole >= -kTwo63 && whole < kTwo63) return {static_cast<int64_t>(whole), ""};
    if (whole > 0 && whole < 2 * kTwo63) return {static_cast<uint64_t>(whole), ""};
    return {whole, ""};
  }
  if (value.is_string()) return text_to_int(value.get_ref<const std::string&>());
  return failed("int() argument must be a string, a bytes-like object or a real number, not '" + python_type(value) + "'");
}

Conversion text_to_float(const std::string& given) {
  const std::string reason = "could not convert string to float: " + python_repr(given);
  const std::optional<std::string> plain = without_underscores(stripped(given));
  if (!plain || plain->find_first_of("()xX") != std::string::npos) return failed(reason);  // from_chars takes "nan(...)"
  const std::string_view text = without_plus(*plain);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || text.empty() || code == std::errc::invalid_argument) return failed(reason);
  if (code == std::errc::result_out_of_range) {  // Python rounds: to infinity, or to zero for a negative exponent
    const bool tiny = text.find_first_of("eE") != std::string_view::npos
                          ? text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos
                          : text.find('.') != std::string_view::npos && text.find_first_of("123456789") > text.find('.');
    number = tiny ? 0.0 : std::numeric_limits<double>::infinity();
    if (text.starts_with('-')) number = -number;
  }
  return {number, ""};
}

Conversion to_float(const Json& value) {
  if (value.is_boolean()) return {value.get<bool>() ? 1.0 : 0.0, ""};
  if (value.is_number()) return {value.get<double>(), ""};
  if (value.is_string()) return text_to_float(value.get_ref<const std::string&>());
  return failed("float() argument must be a string or a real number, not '" + python_type(value) + "'");
}

bool truthy(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_float()) return value.get<double>() != 0.0;
  if (value.is_number()) return value.get<int64_t>() != 0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.is_null() && !value.empty();
}

}  // namespace

Conversion convert_input(const Json& value, std::string_view type) {
  if (type == "INT") return to_int(value);
  if (type == "FLOAT") return to_float(value);
  if (type == "STRING") return {python_str(value), ""};
  if (type == "BOOLEAN") return {truthy(value), ""};
  return {value, ""};
}

namespace {

std::partial_ordering reversed(std::partial_ordering order) {
  if (order == std::partial_ordering::less) return std::partial_ordering::greater;
  return order == std::partial_ordering::greater ? std::partial_ordering::less : order;
}

// An integer as a double may round onto the other number: 2^64 - 1 is no double.
std::partial_ordering compare_to_integer(double a, const Json& b) {
  if (std::isnan(a)) return std::partial_ordering::unordered;
  if (a >= 2 * kTwo63) return std::partial_ordering::greater;
  if (a < -kTwo63) return std::partial_ordering::less;
  const double whole = std::floor(a);
  const Json integer = whole < kTwo63 ? Json(static_cast<int64_t>(whole)) : Json(static_cast<uint64_t>(whole));
  const std::partial_ordering order = compare_numbers(integer, b);
  return order == std::partial_ordering::equivalent && a > whole ? std::partial_ordering::greater : order;
}

}  // namespace

std::partial_ordering compare_numbers(const Json& a, const Json& b) {
  if (!a.is_number() || !b.is_number()) return std::partial_ordering::unordered;
  if (a.is_number_float() && b.is_number_float()) return a.get<double>() <=> b.get<double>();
  if (a.is_number_float()) return compare_to_integer(a.get<double>(), b);
  if (b.is_number_float()) return reversed(compare_to_integer(b.get<double>(), a));
  const auto negative = [](const Json& j) { return !j.is_number_unsigned() && j.get<int64_t>() < 0; };
  if (negative(a) != negative(b)) return negative(a) ? std::partial_ordering::less : std::partial_ordering::greater;
  if (negative(a)) return a.get<int64_t>() <=> b.get<int64_t>();
  return a.get<uint64_t>() <=> b.get<uint64_t>();
}

std::string number_text(const Json& value, std::string_view type) {
  if (type == "INT" && value.is_number_float() && std::isfinite(value.get<double>())) return whole_number(value.get<double>());
  return python_str(value);
}

}  // namespace veneer::graph
