// FreeU: the decoder's own features are strengthened and the coarse part of what the skips bring is weakened.
//
// Source: Si et al. 2023, "FreeU: Free Lunch in Diffusion U-Net", arXiv:2309.11497, and the authors' second version.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"
#include "variant/model_options.h"

namespace veneer::nodes {

// v1: the first half of the channels times b. v2: that factor is b where the mean over the channels is highest, 1 where it is lowest, and linear
// between.
enum class FreeUVersion : uint8_t { v1, v2 };

// Factors of features (b) and skips (s): the first pair where the features have 4 times the network's base width, the second where they have 2 times.
struct FreeUScales {
  double b1 = 1, b2 = 1, s1 = 1, s2 = 1;
};

// h: [N, H, W, C] f32. Returns its own bytes.
Tensor scale_features(const Tensor& h, float b, FreeUVersion version);

// [N, H, W, C] f32 with the Fourier coefficients of each plane at the frequencies 0 and -1 in both directions (four, fewer in planes that are one
// element wide or high) times `scale`; the real part of the result.
Tensor scale_low_frequencies(const Tensor& skip, float scale);

// model_channels: the network's base width.
variant::Identified<variant::BlockAndSkip(const variant::BlockAndSkip&, const variant::PatchCall&)> free_u(FreeUVersion version,
                                                                                                           const FreeUScales& scales,
                                                                                                           int64_t model_channels);

}  // namespace veneer::nodes
