// How a variant's patches become part of a forward.
#pragma once

#include <cstdint>
#include <string_view>

namespace veneer::variant {

enum class LoraApplyMode : uint8_t {
  automatic,     // materialised; side branches for patches whose strength changes while sampling
  materialised,  // the patched weight is computed once, packed, and kept in the resident set
  branch,        // y = W x + s B (A x) where a patch is a low-rank product, materialised elsewhere
  on_demand,     // the patched weight is computed inside of each forward and dropped: the bits of materialised in less memory
};
std::string_view to_string(LoraApplyMode mode);
// "auto", "materialised", "branch", "on-demand". Throws Error(invalid) naming the allowed ones.
LoraApplyMode lora_apply_mode_from_string(std::string_view text);

enum class ResidencyMode : uint8_t {
  classic,  // a load plan is made when a variant starts to run
  dynamic,  // modules come and go on demand, the next one is fetched while the current one computes
};
std::string_view to_string(ResidencyMode mode);
// "classic" or "dynamic". Throws Error(invalid) naming the allowed ones.
ResidencyMode residency_mode_from_string(std::string_view text);

}  // namespace veneer::variant
