#include "lora_argument.h"

#include <cctype>
#include <cmath>
#include <stdexcept>

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
  size_t used = 0;
  double strength = 0;
  try {
    strength = std::stod(number, &used);
  } catch (const std::out_of_range&) {
    refuse(text, "the strength is out of range");
  } catch (const std::invalid_argument&) {
    refuse(text, "the strength is not a number");
  }
  if (used != number.size() || std::isspace(static_cast<unsigned char>(number.front())) != 0) refuse(text, "the strength is not a number");
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
