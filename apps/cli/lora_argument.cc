#include "lora_argument.h"

#include <cmath>
#include <exception>

#include "veneer/error.h"

namespace veneer::cli {
namespace {

std::pair<std::string, double> parse_lora(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return {text, 1.0};
  const std::string number = text.substr(colon + 1);
  size_t used = 0;
  double strength = 0;
  try {
    strength = std::stod(number, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != number.size() || !std::isfinite(strength)) {
    throw Error(ErrorCode::invalid, "--lora takes NAME or NAME:STRENGTH", {{"value", text}, {"example", "--lora style-night:0.8"}});
  }
  return {text.substr(0, colon), strength};
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
