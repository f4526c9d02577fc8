// What travels between nodes as LATENT.
#pragma once

#include <cstdint>
#include <vector>

#include "tensor/tensor.h"

namespace veneer::sampling {

struct Latent {
  Tensor samples = {};                    // [N, C, h, w] f32, in the VAE's own scaling
  Tensor noise_mask = {};                 // [M, 1, H, W] f32, 1 where new content is wanted; undefined: everywhere
  std::vector<int64_t> batch_index = {};  // the number of each row in the batch that its noise belongs to; empty: 0, 1, 2, ...
};

}  // namespace veneer::sampling
