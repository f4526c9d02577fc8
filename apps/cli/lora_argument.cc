#include "lora_argument.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

constexpr double kMostStrength = 100;  // LoraLoader's range

[[noreturn]] void refuse(const std::string& text, const char* rule) {
  throw Error(ErrorCode::invalid, "--lora takes NAME or NAME:STRENGTH",
              {{"flag", "--lora"},
               {"value", text},
               {"rule", rule},
               {"allowed", "-100 to 100, behind a colon after a name in loras/"},
               {"example", "--lora style-night:0.8"}});
}

double parse_strength(const std::string& text, const std::string& number) {
  if (number.empty()) refuse(text, "the strength is missing");
  // Decimal digits whatever the locale; a plus sign as people write it.
  const char *first = number.data() + (number.front() == '+' ? 1 : 0), *const end = number.data() + number.size();
  double strength = 0;
  const auto [rest, failure] = std::from_chars(first, end, strength);
  if (failure == std::errc::result_out_of_range && rest == end) refuse(text, "the strength is out of range");
  if (failure != std::errc() || rest != end || (first != number.data() && *first == '-')) refuse(text, "the strength is not a number");
  if (!std::isfinite(strength)) refuse(text, "the strength is not finite");
  if (std::abs(strength) > kMostStrength) refuse(text, "the strength is out of range");
  return strength;
}

std::pair<std::string, double> parse_lora(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (text.empty() || colon == 0) refuse(text, "the name is missing");
  if (colon == std::string::npos) return {text, 1.0};
  return {text.substr(0, colon), parse_strength(text, text.substr(colon + 1))};
}

}  // namespace

void add_lora_option(CLI::App& app, std::vector<std::string>& texts) {
  app.add_option("--lora", texts, "a LoRA of the model folder's loras/; may be given several times")->type_name("NAME:STRENGTH")->take_all();
}

std::vector<std::pair<std::string, double>> parse_loras(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, double>> loras;
  loras.reserve(texts.size());
  for (const std::string& text : texts) loras.push_back(parse_lora(text));
  return loras;
}

}  // namespace veneer::cli
