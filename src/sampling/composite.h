// Pasting one latent or picture into another. Tensors are planes, [N, C, H, W] f32; positions are in elements.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace veneer::sampling {

// `source` pasted into `destination` at (x, y) >= 0, cut at the border. `feather` > 0: at each side of the source that is not at the destination's
// border its weight rises over that many elements. Batches: source's is repeated or cut to destination's.
// Throws Error(invalid) for other channels or negative numbers.
Tensor composite(const Tensor& destination, const Tensor& source, int64_t x, int64_t y, int64_t feather);

struct MaskedComposite {
  int64_t x = 0;
  int64_t y = 0;
  bool resize_source = false;  // to the destination's size (bilinear) first
};
// Where `mask` ([..., H, W], undefined: 1 everywhere; resized bilinearly to the source) is 1 the source, where it is 0 the destination.
Tensor composite_masked(const Tensor& destination, const Tensor& source, const Tensor& mask, const MaskedComposite& options);

}  // namespace veneer::sampling
