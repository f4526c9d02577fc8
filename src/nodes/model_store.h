// Models by name: opened once, shared by everything that uses them, let go when nothing does.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "formats/model_file.h"
#include "models/clip/bpe_vocabulary.h"
#include "models/clip/clip_kind.h"
#include "models/family/checkpoint.h"
#include "nodes/values.h"
#include "registry/model_folders.h"
#include "variant/runtime.h"

namespace veneer::nodes {

// All members may be called from several threads at once.
class ModelStore {
 public:
  // Diffusion models and autoencoders compute in `dtype`, text encoders in f32.
  ModelStore(std::shared_ptr<const registry::ModelFolders> folders, std::shared_ptr<const variant::Runtime> runtime, DType dtype);

  struct Checkpoint {
    std::optional<ModelValue> model;
    std::optional<ClipValue> clip;  // absent when the file has no text encoder
    std::optional<VaeValue> vae;    // absent when the file has no autoencoder
  };
  // Each throws Error(not_found) naming the folders and the nearest names, or what models/family/checkpoint.h says of the file.
  Checkpoint checkpoint(const std::string& name);
  VaeValue vae(const std::string& name);
  ModelValue diffusion_model(const std::string& name);
  ClipValue text_encoder(const std::string& name);

  // The tensors of an adapter file of loras/.
  formats::ModelFile lora(const std::string& name);

  // The vectors of embeddings/NAME, with or without extension, for prompts; nullopt when there is no such file.
  std::optional<Tensor> embedding(std::string_view name, const models::ClipKind& kind);

  // Made at the first call.
  std::shared_ptr<const models::BpeVocabulary> vocabulary();

  // Changes when another file lies behind the name, or its content was written anew. Throws Error(not_found).
  std::string file_version(const std::string& kind, const std::string& name) const;

  const registry::ModelFolders& folders() const { return *folders_; }

 private:
  // A file as it is now: another file under the same name is another model.
  struct FileId {
    std::string path;
    uint64_t device = 0, inode = 0, size_bytes = 0;
    int64_t modified_ns = 0;
    auto operator<=>(const FileId&) const = default;
  };
  static FileId identify(const std::filesystem::path& path);

  // One opened part of a file. Held weakly: the values that nodes pass on keep it.
  template <typename Network>
  struct Part {
    std::weak_ptr<const Network> network;
    std::weak_ptr<const variant::BaseModel> base;
    const models::FamilyDef* family = nullptr;
  };
  template <typename Network>
  using Parts = std::map<FileId, Part<Network>>;

  // The part that is alive already, else `fresh`, which is then remembered.
  template <typename Network>
  static models::Loaded<Network> share(Parts<Network>& parts, const FileId& id, const models::Loaded<Network>& fresh,
                                       const models::FamilyDef* family);
  // The part if it is alive.
  template <typename Network>
  static std::optional<models::Loaded<Network>> find(const Parts<Network>& parts, const FileId& id);

  ModelValue model_value(const models::Loaded<models::Unet>& loaded, const models::FamilyDef& family) const;
  ClipValue clip_value(const models::LoadedClip& loaded) const;
  VaeValue vae_value(const models::LoadedVae& loaded) const;

  std::shared_ptr<const registry::ModelFolders> folders_;
  std::shared_ptr<const variant::Runtime> runtime_;
  DType dtype_;
  std::mutex mutex_;
  Parts<models::Unet> unets_;
  Parts<models::ClipTextModel> clips_;
  Parts<models::Vae> vaes_;
  std::shared_ptr<const models::BpeVocabulary> vocabulary_;
};

}  // namespace veneer::nodes
