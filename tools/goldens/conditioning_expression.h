// Conditioning lists written as nested node calls: "Combine(SetArea(a, w=7 h=9 x=2 y=3 s=0.6), b)".
#pragma once

#include <string_view>

#include "golden_set.h"
#include "sampling/conditioning.h"

namespace veneer::goldens {

// Names are the case's input tensors. Calls: Combine, Average, Concat, ZeroOut, SetArea (latent elements), SetAreaPercentage, SetAreaStrength,
// SetMask
// ("1-name" inverts a mask; then "s=..", and "default" or "mask bounds"), SetTimestepRange. Throws Error(unsupported) for anything else.
sampling::Conditioning parse_conditioning(const Case& golden, std::string_view text);

}  // namespace veneer::goldens
