// What OFT and BOFT share: a rotated weight in place of the old one.
#pragma once

#include <optional>

#include "patch/patch_value.h"
#include "patch/working_weight.h"

namespace veneer::patch {

struct RotationParts {
  Tensor blocks;   // [blocks, b, b] (OFT) or [stages, blocks, b, b] (BOFT)
  Tensor rescale;  // one factor per output row, or undefined
  Tensor dora_scale;
  std::optional<double> alpha;
};

// The largest norm of the skew-symmetric parameters, 0 for none. Trainers (kohya's OFT, LyCORIS) store alpha and constrain the norm to alpha times
// the number of output rows; the reference takes alpha itself.
double constraint(const RotationParts& parts, const WorkingWeight& weight);

// Throws Error(invalid) unless there are one, or as many factors as rows.
void check_rescale(const Tensor& rescale, const Shape& weight);

// rows *= rescale
void apply_rescale(WorkingWeight& rows, const Tensor& rescale);

// weight += strength * (rotated - weight); with dora_scale by decomposition.
void move_towards(WorkingWeight& weight, const WorkingWeight& rotated, const RotationParts& parts, double strength, double alpha,
                  const WeightFunction* function);

}  // namespace veneer::patch
