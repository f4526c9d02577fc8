#include "byte_size.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

#include "terminal_text.h"

namespace veneer::cli {
namespace {

struct Suffix {
  std::string_view text;  // in lower case
  int shift;
};
constexpr std::array<Suffix, 7> kSuffixes = {{{"", 0}, {"k", 10}, {"kib", 10}, {"m", 20}, {"mib", 20}, {"g", 30}, {"gib", 30}}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

}  // namespace

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc()) return std::nullopt;
  const std::string suffix = lower({rest, static_cast<size_t>(end - rest)});
  const auto* known = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  if (known == kSuffixes.end() || number > std::numeric_limits<uint64_t>::max() >> known->shift) return std::nullopt;
  return number << known->shift;
}

CLI::Validator byte_size(bool with_auto) {
  return {[with_auto](std::string& text) -> std::string {
            if ((with_auto && text == "auto") || parse_byte_size(text)) return "";
            return "not a size: " + printable(text, kMostOfAValue) + "; allowed: " + (with_auto ? "auto, or " : "") + kByteSizeForm;
          },
          ""};
}

std::string format_byte_size(uint64_t bytes) {
  constexpr uint64_t kUnit = 1024;
  if (bytes < kUnit) return std::to_string(bytes) + " B";
  constexpr std::array<const char*, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / kUnit;
  size_t unit = 0;
  // From what would be shown as 1024.0 on, the next unit reads better.
  while (value >= 1023.95 && unit + 1 < kNames.size()) {
    value /= kUnit;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kNames[unit]);
  return text;
}

}  // namespace veneer::cli
