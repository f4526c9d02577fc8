// OpenModel: a model's file, opened: what a name stands for at one time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "nodes/pinned_file.h"
#include "nodes/values.h"

namespace veneer::nodes {

// Immutable. Which members there are says the kind.
struct OpenModel {
  std::string kind;  // by its present name
  std::string name;  // with '/'
  std::string version;
  std::string family;  // "sd1", ...; "" where the kind has none
  std::shared_ptr<const PinnedFile> file;
  std::optional<ModelValue> model;              // checkpoints, diffusion_models
  std::optional<ClipValue> clip;                // checkpoints, text_encoders
  std::optional<VaeValue> vae;                  // checkpoints, vae
  std::optional<formats::ModelFile> tensors{};  // loras, embeddings

  // The variants in it.
  std::vector<const variant::ModelPatcher*> patchers() const {
    std::vector<const variant::ModelPatcher*> out;
    if (clip) out.push_back(&clip->patcher);
    if (vae) out.push_back(&vae->patcher);
    if (model) out.push_back(&model->patcher);
    return out;
  }
};
using OpenModelPtr = std::shared_ptr<const OpenModel>;

}  // namespace veneer::nodes
