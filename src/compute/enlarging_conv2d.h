// A 3x3 convolution that mostly reads a picture of doubled pixels.
#pragma once

#include <memory>

#include "compute/weights.h"

namespace veneer::compute {

// Of a doubled picture, two of a kernel's three rows (and columns) fall on the same pixel of the small one. So the result is four 2x2 convolutions of
// the small picture, one for each place within a doubled pixel, with sums of the taps as kernels: 16 products instead of 36, and the large picture
// never lies in memory. Sums of taps are made in f32 and rounded once to the compute dtype. Inputs that are not doubled run as they are.
// weight: [out, in, 3, 3]; geometry: same3x3() with `enlarges`.
std::shared_ptr<const Conv2d> make_enlarging_conv2d(const WeightSource& weight, const Tensor& bias, const ConvGeometry& geometry, DType compute_dtype,
                                                    WeightStorage storage);

}  // namespace veneer::compute
