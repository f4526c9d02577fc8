// An adapter file on a diffusion model and its text encoder.
#pragma once

#include <optional>
#include <string>

#include "formats/model_file.h"
#include "nodes/values.h"
#include "patch/adapter_file.h"

namespace veneer::nodes {

struct LoraStrengths {
  double model = 1;
  double clip = 1;
};

struct LoraResult {
  std::optional<ModelValue> model;
  std::optional<ClipValue> clip;
  // What a user should weigh: layers of the file that fit nothing. Empty when every layer was used.
  std::string remark;
  // What became of every layer of the file.
  patch::AdapterReport report;
};

// Variants of `model` and `clip` (either may be null) with the file's patches on them; the originals stay as they are. Without a text encoder the
// file's layers for one are left out in silence. Names and kinds are read by the runtime's patch compatibility. Throws Error(invalid) naming the file
// and both architectures when no layer matches, Error(corrupt) for a damaged file.
LoraResult apply_lora(const ModelValue* model, const ClipValue* clip, const formats::ModelFile& file, const LoraStrengths& strengths);

}  // namespace veneer::nodes
