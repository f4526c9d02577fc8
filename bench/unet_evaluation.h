// One evaluation of a UNet of SD 1.5's size with random weights.
#pragma once

#include <cstdint>

#include "tensor/dtype.h"

namespace veneer::bench {

struct UnetFigures {
  double seconds = 0;        // the best round
  double gflop = 0;          // of convolutions, matmuls and attention, 2 per multiply-add
  double first_seconds = 0;  // the first call, which packs the weights
  double packed_bytes = 0;   // of ready-to-run weights
  double peak_activation_bytes = 0;
};

// latent: the width and height of the latent (64: pictures of 512x512). One unmeasured call, then `rounds`.
UnetFigures measure_unet(DType dtype, int64_t batch, int64_t latent, int rounds);

}  // namespace veneer::bench
