// RunState: what one sampling run keeps for the functions of a variant, which all runs share.
#pragma once

#include "sampling/call_state.h"
#include "sampling/rng.h"

namespace veneer::sampling {

// Used by the run's thread only.
struct RunState {
  // For functions that choose at random: as torch's default generator is in a run on the CPU, once the starting noise is drawn.
  TorchGenerator random{0};
  // What functions leave for each other between two evaluations.
  CallState notes;
};

}  // namespace veneer::sampling
