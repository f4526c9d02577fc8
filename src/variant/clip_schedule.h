// The parts of a run for which a text has to be encoded apart, because hooks on the text encoder have other strengths in each.
#pragma once

#include <vector>

#include "variant/hooks.h"

namespace veneer::variant {

struct ClipInterval {
  double start_percent = 0;
  double end_percent = 1;
  std::vector<double> strengths;  // one per hook of the group: its keyframe's
};

// Cuts 0 to 1 at every start of a keyframe that changes a strength. Guaranteed steps do not count here, since a prompt is encoded for a time and not
// for a step. Before a hook's first keyframe its factor is 1, which is what ComfyUI's nodes do; the diffusion model has the first keyframe's strength
// there.
std::vector<ClipInterval> clip_schedule(const HookGroup& group);

}  // namespace veneer::variant
