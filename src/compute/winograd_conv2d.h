// Convolutions of stride 1 with kernels of 3x3 or 2x2 in f32, by 16 multiplications where the sum over taps takes 36 (see winograd_kernels.h).
#pragma once

#include <cstdint>

#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute::winograd {

struct Layer {
  int64_t in = 0, out = 0, kernel_height = 0, kernel_width = 0;
  ConvGeometry geometry;
};

// Whether it takes less time than the sum over taps for results of height x width. Depends on nothing else, so that a picture's bits are the same
// whatever batch it is in, and however many threads work on it.
bool wins(const Layer& layer, int64_t height, int64_t width);

// x: [N, H, W, in] f32. weights: in f32, f16 or bf16, as [out / 64][kernel_height][kernel_width][in][64]: oneDNN's Acdb64a. bias: [out] f32 or
// undefined. Writes y: [N, H', W', out] f32, for which wins() holds. What it needs beside comes from the context's scratch memory; weights are
// transformed anew at each call, a panel at a time, since that takes less than reading what would be 16/9 of their size, and more memory.
void convolve(Context& context, const Layer& layer, const Tensor& x, const Tensor& weights, const Tensor& bias, const Epilogue& epilogue, Tensor& y);

}  // namespace veneer::compute::winograd
