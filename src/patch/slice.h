// Copies of a part of a weight along one dimension, out and back in.
#pragma once

#include "patch/patch_record.h"
#include "tensor/tensor.h"

namespace veneer::patch {

// Throws Error(invalid) unless the offset lies within the shape.
void check_offset(const Offset& offset, const Shape& shape);

// Elements [start, start + length) of dimension dim of an f32 tensor, in their own bytes.
Tensor copy_slice(const Tensor& whole, const Offset& offset);

// Writes `part` (as copy_slice gave it) back into `whole`, which owns its bytes.
void paste_slice(Tensor& whole, const Offset& offset, const Tensor& part);

}  // namespace veneer::patch
