// Patch values that are made from tensors in memory, not from an adapter file: merges, extracted differences, tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "patch/patch_record.h"

namespace veneer::patch {

// W += strength * difference. With `pad`, a difference larger than the weight grows the weight with zeros first.
PatchValuePtr make_diff(Tensor difference, bool pad = false);

// W = value, at any strength but 0.
PatchValuePtr make_set(Tensor value);

// W += strength * (target - original): another model's weight as an adapter on the model that `original` comes from. `identity`
// stands for the bytes of both in the fingerprint.
PatchValuePtr make_model_as_lora(Tensor target, Tensor original, std::optional<Fingerprint> identity = {});

// W += strength * N, where N is another weight with records of its own: convert(base), then `records` in order. `convert` may be empty. `identity`
// stands for the bytes of `base` in the fingerprint, so that they need not be read for it. Throws Error(invalid) when more than kMaxNesting values
// would lie inside of each other.
inline constexpr int kMaxNesting = 64;
PatchValuePtr make_nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records,
                          std::optional<Fingerprint> identity = {});

}  // namespace veneer::patch
