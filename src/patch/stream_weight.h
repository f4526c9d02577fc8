// The fast way through calculate_weight: one pass over base and result, block of rows by block of rows.
#pragma once

#include <optional>
#include <span>

#include "patch/calculate_weight.h"

namespace veneer::patch {

// The patched weight in `dtype`, with the bits of the general way; nullopt when the records need that one: an offset, a function, a kind that has no
// RowAdder, another shape, half-precision arithmetic, or fp8 as the result. Throws as calculate_weight does.
std::optional<Tensor> stream_weight(const Tensor& base, std::span<const PatchRecord> records, DType dtype, const CalculateOptions& options);

}  // namespace veneer::patch
