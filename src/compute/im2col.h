// A convolution's input as the rows of a matrix.
#pragma once

#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// x: [N, H, W, C] -> [N * height * width, kernel_height * kernel_width * C]: what each pixel of the result sees, zeros beyond the border.
Tensor im2col(Context& context, const Tensor& x, int64_t kernel_height, int64_t kernel_width, const ConvGeometry& geometry, int64_t height,
              int64_t width);

}  // namespace veneer::compute
