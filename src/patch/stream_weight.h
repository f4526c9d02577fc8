// The fast way through calculate_weight: one pass over base and result, block of rows by block of rows.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "patch/calculate_weight.h"

namespace veneer::patch {

// The patched weight in `dtype`, with the bits of the general way; nullopt when the records need that one (see PatchedRows) or the result is fp8.
// Throws as calculate_weight does.
std::optional<Tensor> stream_weight(const Tensor& base, std::span<const PatchRecord> records, DType dtype, std::string_view key,
                                    const CalculateOptions& options);

}  // namespace veneer::patch
