#include "server/compat/members.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "jobs/wire.h"
#include "server/http/url.h"

namespace veneer::server {
namespace {

constexpr double kTwo53 = 9007199254740992.0;

// As messages show it: without the zeros of std::to_string.
std::string plain(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  text = trimmed(text);
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// NaN for what is no number.
double number_of(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return number_in<double>(value.get_ref<const std::string&>()).value_or(NAN);
  return NAN;
}

Json range(double low, double high) {
  const auto json = [](double value) { return value == std::floor(value) ? Json(std::llround(value)) : Json(value); };
  return {{"minimum", json(low)}, {"maximum", json(high)}};
}

}  // namespace

const Json* Members::find(const char* name) const {
  const auto at = object_.find(name);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

void Members::refuse(const std::string& name, const std::string& rule, Json facts) const {
  constexpr size_t kShown = 200;
  const std::string field = place_ + name;
  const auto at = object_.find(name);
  const std::string value = at == object_.end() ? "" : jobs::wire_text(*at);
  facts["field"] = field;
  facts["value"] = value.size() > kShown || at == object_.end() ? Json(value.substr(0, kShown)) : *at;
  throw HttpError(style_.status, style_.type, field + " " + rule, value.substr(0, kShown), std::move(facts));
}

std::string Members::text(const char* name, const std::string& otherwise) const {
  const Json* value = find(name);
  if (value == nullptr) return otherwise;
  if (style_.text_of_all && value->is_number()) return jobs::wire_text(*value);
  if (!value->is_string()) refuse(name, "must be text");
  return value->get<std::string>();
}

double Members::number(const char* name, double otherwise, double low, double high) const {
  const Json* given = find(name);
  if (given == nullptr) return otherwise;
  const double value = number_of(*given);
  if (!(value >= low && value <= high)) refuse(name, "must be a number from " + plain(low) + " to " + plain(high), range(low, high));
  return value;
}

int Members::whole(const char* name, int otherwise, int low, int high) const {
  const Json* given = find(name);
  if (given == nullptr) return otherwise;
  const double value = number_of(*given);
  if (!(value >= low && value <= high) || value != std::floor(value)) {
    const std::string rule = low == high ? "must be " + std::to_string(low) : "must be a whole number from " + plain(low) + " to " + plain(high);
    refuse(name, rule, range(low, high));
  }
  return static_cast<int>(value);
}

bool Members::flag(const char* name, bool otherwise) const {
  const Json* given = find(name);
  if (given == nullptr) return otherwise;
  if (*given == true || *given == "true") return true;
  if (*given == false || *given == "false") return false;
  refuse(name, "must be true or false", Json{{"allowed", {true, false}}});
}

std::string Members::choice(const char* name, const std::string& otherwise, const std::vector<std::string>& allowed) const {
  std::string value = text(name, otherwise);
  if (value == otherwise || std::ranges::find(allowed, value) != allowed.end()) return value;
  refuse(name, (allowed.size() == 1 ? "must be " : "must be one of: ") + joined(allowed), Json{{"allowed", allowed}});
}

std::optional<uint64_t> Members::seed(const char* name, bool negative) const {
  const Json* given = find(name);
  if (given == nullptr) return std::nullopt;
  // Some clients have no other numbers than doubles.
  const bool whole = given->is_number_float() && given->get<double>() == std::floor(given->get<double>()) && std::abs(given->get<double>()) <= kTwo53;
  if (given->is_number_unsigned()) return given->get<uint64_t>();
  if (given->is_number_integer() || whole) {
    const auto value = given->get<int64_t>();
    if (value >= 0) return static_cast<uint64_t>(value);
    if (negative) return std::nullopt;
  }
  // Browsers round numbers beyond 2^53.
  if (given->is_string()) {
    const auto& digits = given->get_ref<const std::string&>();
    // A space or a plus sign would be taken for a slip elsewhere.
    if (const auto value = number_in<uint64_t>(digits); value && trimmed(digits) == digits) return value;
    if (const auto value = number_in<int64_t>(digits); negative && value && *value < 0) return std::nullopt;
  }
  const std::string rule = negative ? "must be a whole number up to 18446744073709551615, as a number or as text; below 0: any"
                                    : "must be a whole number from 0 to 18446744073709551615, as a number or as text";
  refuse(name, rule, Json{{"minimum", negative ? Json(-1) : Json(0)}, {"maximum", std::numeric_limits<uint64_t>::max()}});
}

void Members::require_known(const std::vector<std::string>& names) const {
  for (const auto& [name, value] : object_.items()) {
    if (std::ranges::find(names, name) == names.end())
      refuse(name, "is no member of this request; there are: " + joined(names), Json{{"allowed", names}});
  }
}

}  // namespace veneer::server
