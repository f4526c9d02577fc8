// A weight while records are applied to it, and the arithmetic that all kinds share.
//
// Values are kept in f32; in f16 or bf16 mode each of them, and every result below, is rounded to that type, which is what arithmetic in the type
// itself gives.
#pragma once

#include <span>

#include "patch/patch_compat.h"
#include "patch/patch_value.h"
#include "tensor/tensor.h"

namespace veneer::patch {

// Rounds each value to `dtype` in place; nothing to do for f32.
void round_in_place(std::span<float> values, DType dtype);

class WorkingWeight {
 public:
  // `values`: f32 with its own bytes. dtype: f32, f16 or bf16. A slice of a weight may not change its shape.
  WorkingWeight(Tensor values, DType dtype, PatchCompat compat, bool is_slice);

  const Shape& shape() const { return values_.shape(); }
  const Tensor& values() const { return values_; }
  DType dtype() const { return dtype_; }
  bool reference() const { return compat_ == PatchCompat::reference; }
  bool is_slice() const { return is_slice_; }

  // A file's tensor in the working dtype, as f32 values; shares the bytes when nothing has to change.
  Tensor load(const Tensor& tensor) const;
  // a [m, k] @ b [k, n] in the working dtype. Both are f32 matrices of any shape whose first extent is the number of rows.
  Tensor product(const Tensor& a, const Tensor& b) const;

  // weight *= factor
  void scale(double factor);
  // Replaces all values; the element count has to be the weight's.
  void assign(const Tensor& values);
  // weight += function(factor * difference). `difference`: f32 with its own bytes, as many elements as the weight; it is used up.
  void add(Tensor difference, double factor, const WeightFunction* function);
  // DoRA (arXiv:2402.09353): with V = weight + function(alpha * difference), weight += strength * (dora_scale * V / |V| - weight), where the
  // norm is taken per output row or per input column, whichever dora_scale has as many elements as.
  void decompose(Tensor difference, double alpha, const Tensor& dora_scale, double strength, const WeightFunction* function);
  // Grows the weight to `shape`, the old values at the start of each dimension and zeros elsewhere.
  void pad_to(const Shape& shape);

 private:
  Tensor values_;
  DType dtype_;
  PatchCompat compat_;
  bool is_slice_;
};

// Throws Error(invalid) unless dora_scale has one element per output row or per input column of the weight.
void check_dora_scale(const Tensor& dora_scale, const Shape& weight);

// The most elements that a patch may make of a weight of this shape by growing it. Inpainting and control adapters widen a layer two to six times; a
// few bytes of low rank must not ask for all of the memory.
int64_t most_grown_elements(const Shape& from);

// Throws Error(invalid) with "want", "got" unless `shape` is `from` or larger in each dimension, and with "limit" too when it has more than
// most_grown_elements.
void check_padding(const Shape& from, const Shape& shape);

}  // namespace veneer::patch
