// The ranges that nodes declare, for values that arrive over links: validation sees constants only.
#pragma once

#include <vector>

#include "graph/input_def.h"
#include "graph/inputs.h"

namespace veneer::nodes {

// Throws Error(invalid) naming input, value and range for the first number outside of its declared range, or that is no number.
void check_ranges(const std::vector<graph::InputDef>& defs, const graph::Inputs& inputs);

}  // namespace veneer::nodes
