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

// W += strength * (target - original): another model's weight as an adapter on the model that `original` comes from.
PatchValuePtr make_model_as_lora(Tensor target, Tensor original);

// W += strength * N, where N is another weight with records of its own: convert(base), then `records` in order. `convert` may be empty.
PatchValuePtr make_nested(Tensor base, std::optional<WeightFunction> convert, std::vector<PatchRecord> records);

}  // namespace veneer::patch
