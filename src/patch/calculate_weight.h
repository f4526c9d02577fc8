// From a base weight and the records on it to the patched weight. Pure: the base is read, never written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "patch/patch_compat.h"
#include "patch/patch_record.h"
#include "tensor/tensor.h"

namespace veneer::patch {

struct CalculateOptions {
  // f32, f16 or bf16: what the weight and every intermediate value are rounded to while records are applied. f32 is the exact way; the half types
  // reproduce a weight that is patched in its own dtype.
  DType working = DType::f32;
  // Dtype of the result; the base's plain_dtype() when not given.
  std::optional<DType> result;
  PatchCompat compat = PatchCompat::standard;
  // fp8 results are rounded stochastically with this seed, by default string_to_seed(key); other dtypes to the nearest.
  std::optional<uint64_t> rounding_seed;
  // The base stands for `base_scale` times its values: records act on the product, and an fp8 result is stored divided by it. A base that carries a
  // scale of its own (Tensor::scale) needs none here; an fp8 result then carries it too.
  float base_scale = 1;
  // false: what becomes infinite or NaN is returned as it is, in PatchCompat::standard too.
  bool check_finite = true;
  // Where the result's bytes come from; a caller that makes many weights in a row saves the page faults of fresh memory with a cache.
  Allocator* allocator = nullptr;
  // PatchCompat::reference only: receives a line for each record that was left out because it does not fit.
  std::vector<std::string>* skipped = nullptr;
};

// Applies `records` in order to `base` (any floating dtype) and returns a new tensor. `key` names the weight in errors and seeds fp8 rounding.
// Throws Error(invalid) naming key, want and got if a record does not fit, and Error(corrupt) if a finite base became infinite or NaN; both name the
// adapter's file and tensors where the record's value knows them. With no records the result equals the base.
Tensor calculate_weight(const Tensor& base, std::span<const PatchRecord> records, std::string_view key, const CalculateOptions& options);

// The shape of the result.
Shape patched_shape(const Shape& base, std::span<const PatchRecord> records);

}  // namespace veneer::patch
