// Models by name: opened once, shared by everything that uses them, let go when nothing does.
//
// What a name stands for is the file behind it, opened and looked at whenever a prompt begins: never a list that was read before, and no watch on
// folders, which would miss network mounts, links and what happens while nobody reads its queue. A prompt keeps to what its names stood for when it
// began, so that its cached results and what it loads are of one version.
//
// A name may be bound to an open model (`bind`): it serves until it is unbound or a good file comes under the name, which takes its place by itself.
// So it goes on serving while what lies under the name is no model of that kind, is no file, or is nothing at all.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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

  // The same store for one prompt, on whatever threads that works: what a name stands for does not change in it once it was asked for. Such names may
  // be loaded though their files are gone by then.
  std::shared_ptr<ModelStore> for_prompt() const;
  // Throws Error(corrupt) if a file that this prompt uses was written to since the prompt began: what was computed may be of neither content.
  void require_intact() const;

  // The kinds that `open` knows.
  static const std::vector<std::string>& kinds();
  // The model as the file is now, opened and checked, whatever the name is bound to. `anew`: nothing of it is shared with what is in memory. Throws
  // like `checkpoint`, and Error(invalid) with `busy` for a file that is being written.
  OpenModelPtr open(const std::string& kind, const std::string& name, bool anew);

  struct Binding {
    OpenModelPtr model;
    std::string sha256;
    std::string fault;          // why the file that is now behind the name does not serve; "" when it does
    bool lost = false;          // nothing serves: the model's file was written to in place. `model` says what it was, and has no parts
    bool awaits_check = false;  // the file that is now behind the name tells a checksum of its tensors, which somebody has to compare
  };
  // From now on the name stands for the model.
  void bind(const OpenModelPtr& model, std::string sha256);
  // The same if the name still stands for `before`: false, with nothing changed, when somebody unbound it or bound it to another model meanwhile.
  [[nodiscard]] bool bind_in_place_of(const OpenModelPtr& before, const OpenModelPtr& model, std::string sha256);
  // The model goes on serving under its name: its files were replaced by those, of the same content.
  void rebind(const OpenModelPtr& model, const FileIdentities& files, std::string sha256);
  // The hash of what the name is bound to, if that is still the model.
  void set_hash(const OpenModelPtr& model, std::string sha256);
  // What the name stands for is given back to the file. False when it was bound to nothing.
  bool unbind(const std::string& kind, const std::string& name);
  // The files behind the name as they are now; nothing where there are none.
  std::optional<FileIdentities> files_of(const std::string& kind, const std::string& name) const;
  // Those files of the name are no model that serves: a bound name keeps what it stands for, another is bound to the newest version that is still in
  // memory. A reload that failed must not end a service.
  void keep_serving(const std::string& kind, const std::string& name, const FileIdentities& refused, const std::string& fault);
  std::optional<Binding> binding(const std::string& kind, const std::string& name) const;
  // In order of kinds and names.
  std::vector<Binding> bindings() const;
  // Looks at the file of every binding, so that faults are told and good files take their names.
  void look_at_bindings();

  // What names of the kind may stand for now: its files, and what names are bound to. Sorted.
  std::vector<std::string> names(const std::string& kind) const;

  // What became of the files of models that are in memory, by one stat for each.
  struct Stale {
    std::set<Fingerprint> bases;        // identities of base models that no name stands for any more
    std::vector<std::string> adapters;  // files of loras/ that were used and are gone or changed
    bool empty() const { return bases.empty() && adapters.empty(); }
  };
  Stale take_stale();

  // Of base models that are in memory: their weights as they lie in files.
  uint64_t mapped_bytes() const;

  const registry::ModelFolders& folders() const { return *folders_; }

 private:
  // The files of a model as they are now: others under the same name are another model.
  struct FileId {
    std::string path;
    FileIdentities files;
    uint64_t turn = 0;  // how often the path was found written to
    auto operator<=>(const FileId&) const = default;
  };
  struct Key {
    std::string kind, name;
    auto operator<=>(const Key&) const = default;
  };
  // What a name stands for.
  struct Meaning {
    std::shared_ptr<const PinnedFile> file;
    std::string version;
    OpenModelPtr model;  // null: not opened yet
  };
  struct Pin {
    std::mutex opening;  // of `meaning.model`
    Meaning meaning;
  };
  struct Pins {
    std::mutex mutex;
    std::map<Key, std::shared_ptr<Pin>> all;
  };
  struct Bound {
    OpenModelPtr model;
    std::string sha256;
    FileIdentities files;                   // behind the name
    std::optional<FileIdentities> refused;  // others that came there and do not serve
    std::string fault;
    std::optional<FileIdentities> unchecked{};  // others that came there and tell a checksum that nobody has compared yet
    bool lost = false;                          // see Binding
  };

  // With the lock held. Returns what the name stood for.
  Bound bind_locked(const OpenModelPtr& model, const FileId& id, std::string sha256);
  // One opened part of a file. Held weakly: the values that nodes pass on keep it.
  template <typename Network>
  struct Part {
    std::weak_ptr<const Network> network;
    std::weak_ptr<const variant::BaseModel> base;
    const models::FamilyDef* family = nullptr;
    uint64_t turn = 0;  // in the order in which files were opened
  };
  template <typename Network>
  using Parts = std::map<FileId, Part<Network>>;

  // What all prompts share.
  struct Shared {
    std::mutex mutex;
    Parts<models::Unet> unets;
    Parts<models::ClipTextModel> clips;
    Parts<models::Vae> vaes;
    std::map<std::string, FileIdentities> adapters;  // path -> the files that were opened last
    std::set<Fingerprint> superseded;                // bases that were loaded anew though their file is the same
    std::map<std::string, FileIdentities> broken;    // path -> files that are no model
    std::map<std::string, uint64_t> turns;           // path -> how often it was found written to
    std::map<Key, Bound> bound;
    uint64_t loads = 0;               // of models anew
    uint64_t opened = 0;              // parts
    std::map<Key, std::string> used;  // versions that prompts had last
    std::shared_ptr<const models::BpeVocabulary> vocabulary;
    const std::shared_ptr<WriteWatch> writes = WriteWatch::create();
  };

  Key key_of(const std::string& kind, const std::string& name) const;
  std::shared_ptr<const PinnedFile> pin_files(const std::filesystem::path& path) const;
  FileId id_of(const PinnedFile& file) const;
  std::string version_of(const Key& key, const PinnedFile& file) const;
  // For the prompt, or without one for the moment.
  std::shared_ptr<Pin> pin(const std::string& kind, const std::string& name);
  Meaning look_up(const Key& key);
  // Disks are asked without the lock: one that does not answer must not hold up those who use another.
  std::optional<Bound> find_bound(const Key& key) const;
  // The same, and what was written to in place has lost its content.
  std::optional<Bound> look_at_bound(const Key& key);
  template <typename Change>
  void change_bound(const Key& key, const OpenModelPtr& model, Change change);
  static Meaning serving(const Key& key, const Bound& bound);
  // What serves though there is no file of the name, whose look-up failed; throws `why` when nothing does.
  Meaning without_file(const Key& key, const Error& why);
  Meaning take_new_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, const Bound& bound);
  bool tells_checksum(const std::filesystem::path& path) const;
  OpenModelPtr model_of(const std::string& kind, const std::string& name);
  OpenModelPtr open_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, std::string version, bool anew);
  void read_parts(OpenModel& out, const FileId& id, bool anew);
  std::optional<std::string> embedding_name(std::string_view name) const;
  std::optional<FileIdentities> identities_now(const std::string& path) const;

  // The part that is alive already, else `fresh`, which is then remembered; `anew`: `fresh`, which is not.
  template <typename Network>
  models::Loaded<Network> share(Parts<Network>& parts, const FileId& id, const models::Loaded<Network>& fresh, const models::FamilyDef* family,
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
  // What is alive of the newest version of the path that is not `now`, without a version; null unless all of it is. The lock is held.
  std::shared_ptr<OpenModel> earlier_model(const Key& key, const FileId& now) const;
  // Base models that are alive and that no name is bound to, and their files.
  struct Unbound {
    FileId id;
    Fingerprint base;
    bool written = false;
  };
  template <typename Network>
  void collect_unbound(const Parts<Network>& parts, std::vector<Unbound>& out) const;
  // Whether the file that is at the path now has the form of a model: what is none must not end the service of what was there before.
  bool is_model(const std::string& path, const FileIdentities& now);

  ModelValue model_value(const models::Loaded<models::Unet>& loaded, const models::FamilyDef& family) const;
  ClipValue clip_value(const models::LoadedClip& loaded) const;
  VaeValue vae_value(const models::LoadedVae& loaded) const;

  std::shared_ptr<const registry::ModelFolders> folders_;
  std::shared_ptr<const variant::Runtime> runtime_;
  DType dtype_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::shared_ptr<Pins> pins_;  // of the prompt that this store is for; null: of none
};

}  // namespace veneer::nodes
