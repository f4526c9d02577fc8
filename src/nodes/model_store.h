// Models by name: opened once, shared by everything that uses them, let go when nothing does.
//
// What a name stands for is the file behind it, looked at (one stat) whenever a prompt begins: never a list that was read before, and no watch on
// folders, which would miss network mounts, links and what happens while nobody reads its queue. A prompt keeps to what its names stood for when it
// began, so that its cached results and what it loads are of one version.
//
// A name may be bound to an open model (`bind`): it serves while the file behind the name is the one it was bound with, or something that is no model
// of that kind. A good file that comes under the name takes its place by itself; a name without a file is bound to nothing.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "formats/model_file.h"
#include "models/clip/bpe_vocabulary.h"
#include "models/clip/clip_kind.h"
#include "models/family/checkpoint.h"
#include "nodes/open_model.h"
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
  // The version of that file; "" when there is none.
  std::string embedding_version(std::string_view name);

  // Made at the first call.
  std::shared_ptr<const models::BpeVocabulary> vocabulary();

  // Changes when another file lies behind the name, or its content was written anew. Throws Error(not_found).
  std::string file_version(const std::string& kind, const std::string& name);

  // The version that the newest prompt with this name had; "" when there was none.
  std::string version_in_use(const std::string& kind, const std::string& name) const;

  // While it lives, what the names of models stand for does not change for its thread. One at a time on a thread, and destroyed there.
  class PromptScope {
   public:
    explicit PromptScope(ModelStore& store);
    ~PromptScope();
    PromptScope(const PromptScope&) = delete;
    PromptScope& operator=(const PromptScope&) = delete;

   private:
    ModelStore& store_;
  };
  // Throws Error(corrupt) if a file that this thread's prompt uses was written to since the prompt began: what was computed may be of neither
  // content.
  void require_intact() const;

  // The kinds that `open` knows.
  static const std::vector<std::string>& kinds();
  // The model as the file is now, opened and checked, whatever the name is bound to. `anew`: nothing of it is shared with what is in memory. Throws
  // like `checkpoint`, and Error(invalid) with `busy` for a file that is being written.
  OpenModelPtr open(const std::string& kind, const std::string& name, bool anew);

  struct Binding {
    OpenModelPtr model;
    std::string sha256;
    std::string fault;  // why the file that is now behind the name does not serve; "" when it does
  };
  // From now on the name stands for the model.
  void bind(const OpenModelPtr& model, std::string sha256);
  // The model goes on serving under its name: its file was replaced by one of the same content.
  void rebind(const OpenModelPtr& model, const registry::FileIdentity& identity, std::string sha256);
  // What the name stands for is given back to the file. False when it was bound to nothing.
  bool unbind(const std::string& kind, const std::string& name);
  // Binds the name to what it stood for before the file behind it changed, if that is still in memory: a reload that failed must not end its service.
  void keep_serving(const std::string& kind, const std::string& name);
  std::optional<Binding> binding(const std::string& kind, const std::string& name) const;
  // In order of kinds and names.
  std::vector<Binding> bindings() const;

  // What became of the files of models that are in memory, by one stat for each.
  struct Stale {
    std::set<Fingerprint> bases;  // identities of base models that no name stands for any more
    bool adapters = false;        // a file of loras/ that was used is gone or changed
    bool empty() const { return bases.empty() && !adapters; }
  };
  Stale take_stale();

  // Of base models that are in memory: their weights as they lie in files.
  uint64_t mapped_bytes() const;

  const registry::ModelFolders& folders() const { return *folders_; }

 private:
  // A file as it is now: another file under the same name is another model.
  struct FileId {
    std::string path;
    registry::FileIdentity identity;
    std::string shards = {};  // of an index: what tells its shards from others
    auto operator<=>(const FileId&) const = default;
  };
  struct Key {
    std::string kind, name;
    auto operator<=>(const Key&) const = default;
  };
  // What a name stands for.
  struct Pin {
    std::shared_ptr<const PinnedFile> file;
    std::string version;
    OpenModelPtr model;  // null: not opened yet
  };
  struct Bound {
    OpenModelPtr model;
    std::string sha256;
    registry::FileIdentity file;                    // behind the name
    std::optional<registry::FileIdentity> refused;  // another file that came there and is no model
    std::string fault;
  };
  using Pins = std::map<Key, std::shared_ptr<Pin>>;

  // One opened part of a file. Held weakly: the values that nodes pass on keep it.
  template <typename Network>
  struct Part {
    std::weak_ptr<const Network> network;
    std::weak_ptr<const variant::BaseModel> base;
    const models::FamilyDef* family = nullptr;
  };
  template <typename Network>
  using Parts = std::map<FileId, Part<Network>>;

  Key key_of(const std::string& kind, const std::string& name) const;
  std::string version_of(const Key& key, const PinnedFile& file) const;
  // For the thread's prompt, or without one for the moment.
  std::shared_ptr<Pin> pin(const std::string& kind, const std::string& name);
  Pin look_up(const Key& key);
  OpenModelPtr model_of(const std::string& kind, const std::string& name);
  OpenModelPtr open_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, std::string version, bool anew);
  void read_parts(OpenModel& out, const FileId& id, bool anew);
  std::optional<std::string> embedding_name(std::string_view name) const;

  // The part that is alive already, else `fresh`, which is then remembered; `anew`: `fresh`, which is not.
  template <typename Network>
  static models::Loaded<Network> share(Parts<Network>& parts, const FileId& id, const models::Loaded<Network>& fresh, const models::FamilyDef* family,
                                       bool anew);
  // The part is the one of its file from now on.
  template <typename Network>
  void supersede(Parts<Network>& parts, const FileId& id, const std::shared_ptr<const Network>& network,
                 const std::shared_ptr<const variant::BaseModel>& base);
  template <typename Network>
  static std::optional<models::Loaded<Network>> find(const Parts<Network>& parts, const FileId& id) {
    const auto it = parts.find(id);
    if (it == parts.end()) return std::nullopt;
    models::Loaded<Network> loaded{it->second.network.lock(), it->second.base.lock()};
    if (!loaded.network || !loaded.base) return std::nullopt;
    return loaded;
  }
  // What is alive of a version of the path that is not `now`; null unless all of it is.
  OpenModelPtr earlier_model(const Key& key, const FileId& now) const;
  void drop_lost_bindings();
  template <typename Network>
  void collect_stale(const Parts<Network>& parts, std::set<Fingerprint>& bases);
  bool stands_for(const FileId& id);
  // Whether the file that is at the path now has the form of a model: what is none must not end the service of what was there before.
  bool is_model(const std::string& path, const registry::FileIdentity& now);

  ModelValue model_value(const models::Loaded<models::Unet>& loaded, const models::FamilyDef& family) const;
  ClipValue clip_value(const models::LoadedClip& loaded) const;
  VaeValue vae_value(const models::LoadedVae& loaded) const;

  std::shared_ptr<const registry::ModelFolders> folders_;
  std::shared_ptr<const variant::Runtime> runtime_;
  DType dtype_;
  mutable std::mutex mutex_;
  Parts<models::Unet> unets_;
  Parts<models::ClipTextModel> clips_;
  Parts<models::Vae> vaes_;
  std::map<std::string, registry::FileIdentity> adapters_;  // path -> the file that was opened last
  std::set<Fingerprint> superseded_;                        // bases that were loaded anew though their file is the same
  std::map<std::string, registry::FileIdentity> broken_;    // path -> a file that is no model
  std::map<Key, Bound> bound_;
  uint64_t loads_ = 0;  // of models anew
  std::map<std::thread::id, Pins> prompts_;
  std::map<Key, std::string> used_;  // versions that prompts had last
  std::shared_ptr<const models::BpeVocabulary> vocabulary_;
};

}  // namespace veneer::nodes
