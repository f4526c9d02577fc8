// The difference that patches or merges make, as an adapter file.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "nodes/save_model.h"
#include "variant/model_patcher.h"

namespace veneer::nodes {

struct ExtractOptions {
  enum class Kind : uint8_t {
    standard,   // "lora_up" and "lora_down" of the given rank for matrices and convolutions
    full_diff,  // "diff": the whole difference
  };
  Kind kind = Kind::standard;
  int64_t rank = 8;
  bool bias_diff = true;                // also biases, and with `standard` the weights of norms, as whole differences
  std::function<void()> progress = {};  // called before each weight; may throw to stop
};

// The adapter's tensors, in f16 where it holds the values. A weight KEY_PREFIX + "x.weight" becomes the layer LAYER_PREFIX + "x"; weights that do not
// differ are left out.
//
// What the difference is follows from how the weight was made. One model's weight minus another's (ModelMergeSubtract) is the difference itself. A
// whole model's weight, with adapters or merged, differs from that of the model's base. Throws Error(invalid) naming the key for what is neither,
// for a weight whose patches change its shape, and for values that are not finite.
Tensors extract_adapter(const variant::ModelPatcher& model, std::string_view key_prefix, std::string_view layer_prefix,
                        const ExtractOptions& options);

}  // namespace veneer::nodes
