#include "models/clip/python_float.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <system_error>

#include "models/clip/unicode.h"

namespace veneer::models {
namespace {

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Digits of other scripts as ASCII digits and other white space as blanks; anything else beyond ASCII as '?', which no number contains.
std::string to_ascii(std::string_view utf8) {
  std::string out;
  for (const char32_t c : decode_utf8(utf8)) {
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (is_python_space(c)) {
      out += ' ';
    } else {
      const int digit = decimal_value(c);
      out += digit >= 0 ? static_cast<char>('0' + digit) : '?';
    }
  }
  return out;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

// Appends a run of digits at text[i] to `out` without its underscores, which have to stand between digits. False when one does not.
bool take_digits(std::string_view text, size_t& i, std::string& out) {
  bool after_digit = false;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '_'); ++i) {
    if (text[i] == '_') {
      if (!after_digit || i + 1 == text.size() || !is_digit(text[i + 1])) return false;
    } else {
      out += text[i];
    }
    after_digit = is_digit(text[i]);
  }
  return true;
}

// The value of digits "12.5e-3" that from_chars found to be out of double's range: too large or too small?
double out_of_range(std::string_view mantissa, std::string_view exponent) {
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const size_t first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos) return 0.0;
  const auto magnitude = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  int64_t power = 0;
  const bool negative = exponent.starts_with('-');
  if (negative) exponent.remove_prefix(1);
  const auto [end, status] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  // An exponent past 64 bits outweighs any number of digits that fits into memory.
  if (status == std::errc::result_out_of_range) return negative ? 0.0 : std::numeric_limits<double>::infinity();
  return magnitude > (negative ? power : -power) ? std::numeric_limits<double>::infinity() : 0.0;
}

std::optional<double> parse_unsigned(std::string_view text) {
  if (equals_ignoring_case(text, "inf") || equals_ignoring_case(text, "infinity")) return std::numeric_limits<double>::infinity();
  if (equals_ignoring_case(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  std::string mantissa;
  size_t i = 0;
  if (!take_digits(text, i, mantissa)) return std::nullopt;
  size_t digits = mantissa.size();
  if (i < text.size() && text[i] == '.') {
    ++i;
    mantissa += '.';
    if (!take_digits(text, i, mantissa)) return std::nullopt;
    digits = mantissa.size() - 1;
  }
  if (digits == 0) return std::nullopt;
  std::string exponent;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
      if (text[i] == '-') exponent += '-';
      ++i;
    }
    const size_t sign = exponent.size();
    if (!take_digits(text, i, exponent) || exponent.size() == sign) return std::nullopt;
  }
  if (i != text.size()) return std::nullopt;
  const std::string number = exponent.empty() ? mantissa : mantissa + "e" + exponent;
  double value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (status == std::errc::result_out_of_range) return out_of_range(mantissa, exponent);
  if (status != std::errc() || end != number.data() + number.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> parse_python_float(std::string_view utf8) {
  const std::string ascii = to_ascii(utf8);
  std::string_view text = ascii;
  while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ascii_space(text.back())) text.remove_suffix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::optional<double> value = parse_unsigned(text);
  if (!value) return std::nullopt;
  return negative ? -*value : *value;
}

}  // namespace veneer::models
