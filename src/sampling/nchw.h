// Small moves on batches of planes and pictures that several operations share. All tensors are f32; every function returns its own bytes unless it
// says "shares".
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace veneer::sampling {

// A rectangle of a plane, in elements.
struct Box {
  int64_t y = 0, x = 0, height = 0, width = 0;
  bool operator==(const Box&) const = default;
};

// Throws Error(invalid) "WHAT: ..." unless the tensor is defined, f32 (shared) or another floating dtype (converted), and of `rank` dimensions.
Tensor require_f32(const Tensor& tensor, int rank, std::string_view what);

// The part of every plane that lies in `box`, which has to lie in the planes: [..., H, W] -> [..., box.height, box.width].
Tensor crop_planes(const Tensor& planes, const Box& box);

// The first `count` rows of the batch, repeated from the start as often as needed. Shares when nothing changes. Throws Error(invalid) for no rows.
Tensor repeat_to_batch(const Tensor& tensor, int64_t count);

// Rows of `a`, then rows of `b`; equal shapes behind the first dimension, else Error(invalid).
Tensor concat_batch(const Tensor& a, const Tensor& b);

// [N, H, W, C] -> [N, C, H, W], and back.
Tensor to_planes(const Tensor& pixels);
Tensor to_pixels(const Tensor& planes);

// Python's round(): to the nearest integer, halves to the even one.
int64_t round_half_even(double value);

}  // namespace veneer::sampling
