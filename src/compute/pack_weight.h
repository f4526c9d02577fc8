// Puts a weight into a blocked layout: conversion, transposition and blocking in one pass over the source.
#pragma once

#include <cstddef>

#include "compute/blocked_layout.h"
#include "compute/row_source.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// Which axes of the layout the weight's first two dimensions are: a matmul's weights are [in, out], a convolution's [out, in, height, width].
struct WeightAxes {
  int out = 0;
  int in = 1;
};

// Whether pack_weight serves: blocks of `out` and `in` only, whole vectors of them, and a source dtype whose elements can be converted one by one.
bool can_pack(DType source, const WeightAxes& axes, const BlockedLayout& layout, DType dtype);

// weight: [out, in, ...] row-major in a floating dtype, or made row by row. Writes `dtype` (f32 or bf16, rounded to nearest even) to `target`,
// padding included: as many bytes as the layout's padded extents have, aligned to 64. The same bits as conversion followed by oneDNN's reorder (but a
// NaN's payload). Requires can_pack(). Throws what making a row throws; the target is then undefined.
void pack_weight(const WeightSource& weight, const WeightAxes& axes, const BlockedLayout& layout, DType dtype, std::byte* target);

}  // namespace veneer::compute
