#include "variant/apply_mode.h"

#include <array>
#include <string>
#include <utility>

#include "veneer/error.h"

namespace veneer::variant {
namespace {

constexpr std::array kApplyModes{
    std::pair{LoraApplyMode::automatic, std::string_view("auto")}, std::pair{LoraApplyMode::materialised, std::string_view("materialised")},
    std::pair{LoraApplyMode::branch, std::string_view("branch")}, std::pair{LoraApplyMode::on_demand, std::string_view("on-demand")}};
constexpr std::array kResidencyModes{std::pair{ResidencyMode::classic, std::string_view("classic")},
                                     std::pair{ResidencyMode::dynamic, std::string_view("dynamic")}};

template <typename Names, typename Value>
std::string_view name_of(const Names& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  return "?";
}

template <typename Names>
auto value_of(const Names& names, std::string_view text, const char* what) {
  std::string allowed;
  for (const auto& [value, name] : names) {
    if (name == text) return value;
    allowed += (allowed.empty() ? "" : " ") + std::string(name);
  }
  throw Error(ErrorCode::invalid, std::string("unknown ") + what, {{"value", std::string(text)}, {"allowed", allowed}});
}

}  // namespace

std::string_view to_string(LoraApplyMode mode) { return name_of(kApplyModes, mode); }
LoraApplyMode lora_apply_mode_from_string(std::string_view text) { return value_of(kApplyModes, text, "way to apply adapters"); }
std::string_view to_string(ResidencyMode mode) { return name_of(kResidencyModes, mode); }
ResidencyMode residency_mode_from_string(std::string_view text) { return value_of(kResidencyModes, text, "residency"); }

}  // namespace veneer::variant
