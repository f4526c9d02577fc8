#include "value_checks.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "terminal_text.h"

namespace veneer::cli {

CLI::Validator seed_value() {
  return {[](std::string& text) -> std::string {
            uint64_t seed = 0;
            const char* end = text.data() + text.size();
            const auto [rest, failure] = std::from_chars(text.data(), end, seed);
            if (failure != std::errc() || rest != end) return "not a whole number from 0 to 18446744073709551615 in decimal digits: " + text;
            text = std::to_string(seed);
            return "";
          },
          ""};
}

CLI::Validator decimal_number() {
  return {[](std::string& text) -> std::string {
            // What is no number at all is for the flag's own rules.
            const size_t digits = text.find_first_not_of("+-");
            if (digits == std::string::npos || text[digits] != '0') return "";
            if (digits + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[digits + 1])) != 0 && text[digits + 1] != 'e') {
              return "not a decimal number: " + printable(text, kMostOfAValue);
            }
            const auto is_digit = [&](size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
            while (text[digits] == '0' && is_digit(digits + 1)) text.erase(digits, 1);
            return "";
          },
          ""};
}

CLI::Validator multiple_of(int divisor) {
  return {[divisor](std::string& text) -> std::string {
            int value = 0;
            if (CLI::detail::lexical_cast(text, value) && value % divisor == 0) return "";
            return "not a multiple of " + std::to_string(divisor) + ": " + text;
          },
          ""};
}

CLI::Validator not_nan() {
  return {[](std::string& text) -> std::string {
            double value = 0;
            return CLI::detail::lexical_cast(text, value) && !std::isnan(value) ? "" : "not a number: " + text;
          },
          ""};
}

CLI::Validator apply_mode() {
  return {[](std::string& text) -> std::string {
            if (text == "immediately") text = "materialised";
            if (text == "at_runtime") text = "branch";
            for (const char* known : {"auto", "materialised", "branch", "on-demand"}) {
              if (text == known) return "";
            }
            return printable(text, kMostOfAValue) + " not in {auto,materialised,branch,on-demand}, nor immediately or at_runtime";
          },
          ""};
}

CLI::Validator not_empty() {
  return {[](std::string& text) -> std::string { return text.empty() ? "the name is empty" : ""; }, ""};
}

}  // namespace veneer::cli
