// Perp-Neg: a negative prompt takes away only what the positive one does not say as well.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace veneer::sampling {

// Over what the parts of a prediction along and across another one are taken.
enum class PerpScope : uint8_t {
  row,    // each picture of the batch by itself
  batch,  // all pictures as one vector, as the reference implementation does: pictures of a batch change each other
};

// empty + scale * (pos - neg_scale * perp), where pos and neg are the predictions less that of the empty prompt, and perp is the part of neg at right
// angles to pos; all of neg where pos is 0. Clean latents of one shape [N, ...], f32. Source: Armandpour et al. 2023, arXiv:2304.04968.
struct PerpNegInputs {
  const Tensor& positive;
  const Tensor& negative;
  const Tensor& empty;
};
Tensor perp_neg(const PerpNegInputs& inputs, double neg_scale, double scale, PerpScope scope);

}  // namespace veneer::sampling
