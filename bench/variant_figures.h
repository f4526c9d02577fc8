// What variants cost: clones, switches, side branches and memory budgets, on a UNet of SD 1.5's size with rank-16 adapters.
#pragma once

#include "tensor/dtype.h"

namespace veneer::bench {

// Prints one line for each figure. `copy_rate`: GB/s of this run, bytes read and written. `latent`: 64 for pictures of 512x512.
void print_variant_figures(DType dtype, double copy_rate, int64_t latent);

}  // namespace veneer::bench
