// From a file's tensors to networks with their base models.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "formats/model_file.h"
#include "models/clip/text_encoder.h"
#include "models/family/family.h"
#include "models/unet/unet.h"
#include "models/vae/vae.h"
#include "variant/base_model.h"
#include "variant/model_object.h"

namespace veneer::models {

// A network and the weights it runs on. Both are immutable and may outlive everything else here; a mapped file stays mapped as long as a base needs
// it.
template <typename Network>
struct Loaded {
  std::shared_ptr<const Network> network;
  std::shared_ptr<const variant::BaseModel> base;
};

struct LoadedUnet : Loaded<Unet> {
  const FamilyDef* family = nullptr;
};
using LoadedVae = Loaded<Vae>;
using LoadedClip = Loaded<ClipTextModel>;

struct LoadedCheckpoint {
  const FamilyDef* family = nullptr;
  LoadedUnet unet;
  // Absent when the file has not a single weight of that part; a part that is there in pieces is an error.
  std::optional<LoadedClip> clip;
  std::optional<LoadedVae> vae;
  // Tensors of the file that no part uses: averages of a training, position tables, ...
  std::vector<std::string> unused;
};

// What is in the named slots of a UNet's base (BaseModel::objects), by its family. Empty: nothing.
using ObjectsOf = std::function<std::map<std::string, variant::ModelObject>(const FamilyDef&)>;

// Every function throws Error(not_found) or Error(corrupt) for a file that cannot be read, Error(corrupt) naming file and tensor for a missing tensor
// or one of the wrong shape, Error(unsupported) saying what the file looks like when it is something else. No tensor's bytes are read but scales.
// `source` names the file in errors.

// Handles of all tensors of a file; fp8 weights carry the scales of their companions, which are left out (formats/scaled_fp8.h).
WeightMap tensors_of(const formats::ModelFile& file);

LoadedCheckpoint load_checkpoint(const WeightMap& tensors, const std::string& source, const ObjectsOf& objects = {});
LoadedCheckpoint load_checkpoint(const std::filesystem::path& path, const ObjectsOf& objects = {});

// A UNet alone or the one of a checkpoint: keys "model.diffusion_model.", "diffusion_model." or bare.
LoadedUnet load_unet(const WeightMap& tensors, const std::string& source, const ObjectsOf& objects = {});
LoadedUnet load_unet(const std::filesystem::path& path, const ObjectsOf& objects = {});

// A text encoder alone or the one of a checkpoint, under any of the prefixes of its kind.
LoadedClip load_clip(const WeightMap& tensors, const std::string& source, const ClipKind& kind = sd1_clip_l());
LoadedClip load_clip(const std::filesystem::path& path, const ClipKind& kind = sd1_clip_l());

// An autoencoder alone or the one of a checkpoint: keys "first_stage_model.", "vae." or bare, in the original layout or
// in that of the diffusers library.
LoadedVae load_vae(const WeightMap& tensors, const std::string& source);
LoadedVae load_vae(const std::filesystem::path& path);

}  // namespace veneer::models
