// What this machine can do at best: the yardsticks that other figures are divided by.
#pragma once

#include "tensor/dtype.h"

namespace veneer::bench {

// Each is the best of `rounds` after one unmeasured round, on num_threads() threads, with packed weights and huge pages. Rates count 2 per
// multiply-add, in GFLOP/s.

// [size, size] x [size, size] through compute::Linear.
double matmul_rate(DType dtype, int size = 4096, int rounds = 3);
// A 3x3 convolution with 320 channels in and out at 64x64, batch 2: the most common of SD 1.5's UNet at 512x512.
double convolution_rate(DType dtype, int rounds = 5);
// Bytes read plus bytes written per second, in GB/s, of a copy of 256 MiB.
double copy_bandwidth(int rounds = 5);
// GB/s at which 1 GiB that the process has not had before is written for the first time, in huge pages where the system grants them.
double first_touch_rate();

}  // namespace veneer::bench
