// One patch on one weight: what to add, how strongly, and where. A list of records in order describes how a variant's weight differs from its base.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "patch/patch_value.h"

namespace veneer::patch {

// Limits a patch to elements [start, start + length) of one dimension of the weight.
struct Offset {
  int dim = 0;
  int64_t start = 0;
  int64_t length = 0;
  bool operator==(const Offset&) const = default;
};

// W' = strength_model * W + strength_patch * dW, or what the kind of `value` makes of the two strengths: docs/patch-kinds.md.
struct PatchRecord {
  double strength_patch = 1;
  PatchValuePtr value;
  double strength_model = 1;
  std::optional<Offset> offset;
  std::optional<WeightFunction> function;
};

// Throws Error(invalid) when a strength is not finite.
void check_record(const PatchRecord& record);

// Adds everything that a record's effect depends on: strengths, value, offset, function id.
void add_to_fingerprint(FingerprintBuilder& builder, const PatchRecord& record);

// How much of whole weights a weight with these records is: 1 for a model's weight, whatever adapters and merges it has; 0 for the difference of two.
double weight_share(std::span<const PatchRecord> records);

}  // namespace veneer::patch
