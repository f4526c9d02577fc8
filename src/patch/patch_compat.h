// Which meaning a patch has where the reference implementation departs from the format's own definition: docs/patch-kinds.md lists each case.
#pragma once

#include <cstdint>
#include <string_view>

namespace veneer::patch {

enum class PatchCompat : uint8_t {
  standard,   // the format's definition; what does not fit is an Error
  reference,  // as the reference implementation computes, its faults included; what does not fit is left out and reported
};

// "standard" or "reference". Throws Error(invalid) naming the allowed values.
PatchCompat patch_compat_from_string(std::string_view name);

}  // namespace veneer::patch
