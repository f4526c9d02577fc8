// Writing of variants as model files that load again: patched weights in the dtype of their base, under the names of the original layouts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "formats/safetensors.h"
#include "graph/json.h"
#include "models/family/checkpoint_names.h"
#include "nodes/values.h"

namespace veneer::nodes {

using Tensors = std::vector<formats::TensorSource>;
using Metadata = std::map<std::string, std::string>;

// Each weight of the variant, made when it is written; unpatched ones are the base's bytes. The sources keep base and description alive. Throws
// Error(invalid) for a base without weights and for keys that do not fit `names`.
Tensors weights_of(const variant::ModelPatcher& model, const models::NamePrefixes& names);

// A checkpoint in the layout of the model's family. `clip` and `vae` may be null. Throws Error(unsupported) for a model of which no layout is known,
// Error(invalid) naming input, want and got for a text encoder or an autoencoder of another family.
Tensors checkpoint_tensors(const ModelValue& model, const ClipValue* clip, const VaeValue* vae);

// What a file says of a diffusion model (ModelSpec): architecture, title, what the network predicts. Empty for a model of no known family.
Metadata model_spec(const ModelValue& model, const std::string& title);

// The recipe of a file: "prompt", and each member of `extra_pnginfo`, as JSON text. Both may be null.
void add_recipe(Metadata& metadata, const graph::Json& prompt, const graph::Json& extra_pnginfo);

struct ModelFileRequest {
  std::filesystem::path folder;  // the output folder
  std::string filename_prefix;   // may hold sub-folders and the times that pictures' prefixes may
  Tensors tensors;
  // Metadata for the name and number that the file gets.
  std::function<Metadata(const std::string& stem, int64_t counter)> metadata;
  // Called before each tensor; may throw to stop.
  std::function<void(size_t done, size_t total)> progress;
};

// Writes "<prefix>_<counter>_.safetensors" with the next free number and returns its path. The file appears whole or not at all. Memory: the largest
// tensor. Throws Error(invalid) for a prefix that leaves the folder and when the file system refuses, and what making a tensor throws.
std::filesystem::path save_model_file(ModelFileRequest request);

}  // namespace veneer::nodes
