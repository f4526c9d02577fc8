// The ops between convolutions and matmuls: fused, vectorised over channels, dispatched at run time to the best ISA of the machine.
//
// Activations are NHWC ([N, H, W, C], equally [N, H*W, C] tokens) in the context's dtype (f32 or bf16); parameters of norms are f32.
// Arithmetic is f32. Every op returns a new tensor from the context's scratch allocator unless it says "in place".
#pragma once

#include <cstdint>
#include <span>

#include "compute/context.h"
#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// GroupNorm over (H, W, C / groups), then SiLU when `silu`. weight, bias: [C] f32. channel_add: [N, C] in the context's dtype or null; it is added
// to x before the statistics (the timestep embedding of a residual block). Variance is biased, as torch's.
Tensor group_norm(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias, int groups, float eps, bool silu,
                  const Tensor* channel_add = nullptr);

// LayerNorm over the last dimension. weight, bias: [C] f32.
Tensor layer_norm(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias, float eps);

// x: [..., 2 D] -> x[..., :D] * gelu(x[..., D:]), exact GELU.
Tensor geglu(Context& context, const Tensor& x);

// A [N, T, heads * head_dim] operand of attention that may lie inside of wider rows (a slice of fused QKV): element (n, t, c) is at
// data[(n * T + t) * row_stride + offset + c].
struct AttentionOperand {
  const Tensor& tensor;  // [N, T, row_stride]
  int64_t offset = 0;    // first channel
};

struct AttentionShape {
  int heads = 1;
  int head_dim = 0;
  bool causal = false;
  float scale = 0;  // 0: 1 / sqrt(head_dim)
};

// softmax(q k^T * scale) v per head. q: [N, Tq, .], k and v: [N, Tk, .] -> [N, Tq, heads * head_dim]. Never holds [Tq, Tk] whole.
Tensor attention(Context& context, const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v, const AttentionShape& shape);

// Nearest neighbour to [N, height, width, C]: source index floor(i * in / out), as torch's "nearest".
Tensor upsample_nearest(Context& context, const Tensor& x, int64_t height, int64_t width);

// Writes left's pixels to the even columns and right's to the odd ones of every second row of y, from `first_row` on. left, right: [N, H, W, C];
// y: [N, 2 H, 2 W, C].
void weave(Context& context, const Tensor& left, const Tensor& right, int64_t first_row, Tensor& y);

// Concatenation over the last dimension.
Tensor concat_channels(Context& context, const Tensor& a, const Tensor& b);

// Element-wise, same shapes.
Tensor add(Context& context, const Tensor& a, const Tensor& b);
Tensor silu(Context& context, const Tensor& x);
Tensor gelu(Context& context, const Tensor& x);  // exact, erf
// The activation of an Epilogue by itself; `x` when it is none.
Tensor activate(Context& context, const Tensor& x, Activation activation);
Tensor scale(Context& context, const Tensor& x, float factor);

// [N, C, H, W] f32 -> [N, H, W, C] in the context's dtype, each value times `factor`, and back to f32.
Tensor to_nhwc(Context& context, const Tensor& nchw, float factor = 1.0F);
Tensor to_nchw_f32(Context& context, const Tensor& nhwc, float factor = 1.0F);

// Sinusoidal embedding [timesteps, dim] in the context's dtype: cos in the first half, sin in the second, frequencies max_period^(-i / (dim/2)).
Tensor timestep_embedding(Context& context, std::span<const float> timesteps, int dim, float max_period = 10000.0F);

// To the context's dtype (shares the bytes when it has it already).
Tensor to_compute(Context& context, const Tensor& x);
// To f32 in scratch memory (shares the bytes when it has it already).
Tensor to_f32(Context& context, const Tensor& x);

}  // namespace veneer::compute
