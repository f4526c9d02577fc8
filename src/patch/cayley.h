// Rotations from the free parameters that OFT and BOFT train.
#pragma once

#include "tensor/tensor.h"

namespace veneer::patch {

// blocks: [..., b, b], any floating dtype. With Q = B - B^T, all blocks together scaled down to the Frobenius norm `limit` if that is positive and
// exceeded: R = (I + Q)(I - Q)^-1 for each block, f32, shape of `blocks`. R is orthogonal (Cayley transform).
Tensor cayley(const Tensor& blocks, double limit);

}  // namespace veneer::patch
