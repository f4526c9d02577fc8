// How fast this machine multiplies in each compute dtype.
#pragma once

namespace veneer::compute {

// GFLOP/s (2 operations per multiply-add) of one thread.
struct ProductRates {
  double f32 = 0;
  double bf16 = 0;  // 0 where the machine cannot
};

// Some ten milliseconds of matrix products, in turns, the best of each counting: what else runs on the machine may slow them all, but hardly the one
// alone.
ProductRates measure_product_rates();

}  // namespace veneer::compute
