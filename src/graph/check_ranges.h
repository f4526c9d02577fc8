// The ranges that nodes declare, for values that arrive over links: validation sees constants only.
#pragma once

#include "graph/inputs.h"
#include "graph/node_def.h"

namespace veneer::graph {

// Whether an input with a range takes NaN: a FLOAT of which every number is in the range, as ComfyUI writes "any float".
bool takes_nan(const InputDef& input);

// Throws Error(invalid) naming input, value and range for the first number of a call that is outside of its declared range, or that is no number.
// As in validation, inputs that the class's own check takes are left to it.
void check_ranges(const NodeDef& def, const Inputs& call);

}  // namespace veneer::graph
