// The slow truth: every op as naive loops over f32 tensors with sums in double. Tests compare the fast ops to it; nothing else uses it.
// Shapes and meanings are those of compute/ops.h and compute/weights.h.
#pragma once

#include "compute/ops.h"
#include "compute/weights.h"
#include "tensor/tensor.h"

namespace veneer::compute::reference {

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Epilogue& epilogue);
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvGeometry& geometry, const Epilogue& epilogue);
Tensor group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, int groups, float eps, bool silu, const Tensor* channel_add);
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps);
Tensor geglu(const Tensor& x);
Tensor attention(const AttentionOperand& q, const AttentionOperand& k, const AttentionOperand& v, const AttentionShape& shape);
Tensor upsample_nearest(const Tensor& x, int64_t height, int64_t width);
Tensor concat_channels(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, const Tensor& b);
Tensor silu(const Tensor& x);
Tensor scale(const Tensor& x, float factor);
Tensor to_nhwc(const Tensor& nchw, float factor);
Tensor to_nchw(const Tensor& nhwc, float factor);
Tensor timestep_embedding(std::span<const float> timesteps, int dim, float max_period);

}  // namespace veneer::compute::reference
