// Torch checkpoints made of other model files, so that tests need no torch.
#pragma once

#include <string>

#include "formats/model_file.h"

namespace veneer::testing {

// The bytes of a zip-form checkpoint with all tensors of `file` under "state_dict", in the layout of torch.save: a storage for each tensor. `file` is
// to hold f16, f32, bf16 and i64 only.
std::string torch_checkpoint(const formats::ModelFile& file, const std::string& root = "archive");

}  // namespace veneer::testing
