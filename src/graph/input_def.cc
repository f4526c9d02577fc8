#include "graph/input_def.h"

namespace veneer::graph {
namespace {

InputDef named(std::string name, std::string type) {
  InputDef def;
  def.name = std::move(name);
  def.type = std::move(type);
  return def;
}

}  // namespace

InputDef InputDef::socket(std::string name, std::string type) { return named(std::move(name), std::move(type)); }

InputDef InputDef::integer(std::string name, int64_t default_value, int64_t min, int64_t max, Json step) {
  InputDef def = named(std::move(name), "INT");
  def.default_value = default_value;
  def.min = min;
  def.max = max;
  def.step = std::move(step);
  return def;
}

InputDef InputDef::seed(std::string name) {
  InputDef def = named(std::move(name), "INT");
  def.default_value = 0;
  def.min = 0;
  def.max = std::numeric_limits<uint64_t>::max();
  def.control_after_generate = true;
  return def;
}

InputDef InputDef::number(std::string name, double default_value, double min, double max, Json step, Json round) {
  InputDef def = named(std::move(name), "FLOAT");
  def.default_value = default_value;
  def.min = min;
  def.max = max;
  def.step = std::move(step);
  def.round = std::move(round);
  return def;
}

InputDef InputDef::text(std::string name, Json default_value) {
  InputDef def = named(std::move(name), "STRING");
  def.default_value = std::move(default_value);
  return def;
}

InputDef InputDef::multiline_text(std::string name, bool dynamic_prompts) {
  InputDef def = named(std::move(name), "STRING");
  def.multiline = true;
  def.dynamic_prompts = dynamic_prompts;
  return def;
}

InputDef InputDef::boolean(std::string name, Json default_value) {
  InputDef def = named(std::move(name), "BOOLEAN");
  def.default_value = std::move(default_value);
  return def;
}

InputDef InputDef::choice(std::string name, std::vector<std::string> options) {
  InputDef def = named(std::move(name), "COMBO");
  def.options = std::move(options);
  return def;
}

InputDef InputDef::choice(std::string name, OptionsFunction options_from) {
  InputDef def = named(std::move(name), "COMBO");
  def.options_from = std::move(options_from);
  return def;
}

InputDef InputDef::hidden(std::string name, std::string type) {
  InputDef def = named(std::move(name), std::move(type));
  def.section = InputSection::hidden;
  return def;
}

std::vector<std::string> InputDef::current_options(const Environment& environment) const {
  return options_from ? options_from(environment) : options;
}

}  // namespace veneer::graph
