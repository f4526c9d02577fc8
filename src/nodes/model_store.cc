#include "nodes/model_store.h"

#include <algorithm>

#include "models/clip/textual_inversion.h"
#include "models/family/family.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

std::map<std::string, variant::ModelObject> objects_of(const models::FamilyDef& family) {
  sampling::BetaSchedule betas;
  betas.start = family.schedule.beta_start;
  betas.end = family.schedule.beta_end;
  betas.timesteps = family.schedule.timesteps;
  const auto model_sampling =
      std::make_shared<const sampling::ModelSampling>(sampling::ModelSampling::discrete(sampling::prediction_from_string(family.prediction), betas));
  return {{kModelSampling, variant::ModelObject::of(model_sampling->fingerprint(), model_sampling)}};
}

// As the folders list it.
std::string name_as_listed(std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  const auto repeated = std::unique(name.begin(), name.end(), [](char a, char b) { return a == '/' && b == '/'; });
  name.erase(repeated, name.end());
  return name;
}

}  // namespace

ModelStore::ModelStore(std::shared_ptr<const registry::ModelFolders> folders, std::shared_ptr<const variant::Runtime> runtime, DType dtype)
    : folders_(std::move(folders)), runtime_(std::move(runtime)), dtype_(dtype) {}

const std::vector<std::string>& ModelStore::kinds() {
  static const std::vector<std::string> kKinds = {"checkpoints", "diffusion_models", "embeddings", "loras", "text_encoders", "vae"};
  return kKinds;
}

template <typename Network>
models::Loaded<Network> ModelStore::share(Parts<Network>& parts, const FileId& id, const models::Loaded<Network>& fresh,
                                          const models::FamilyDef* family, bool anew) {
  if (anew) return fresh;
  if (auto alive = find(parts, id)) return *alive;
  std::erase_if(parts, [](const auto& entry) { return entry.second.base.expired(); });
  parts[id] = {fresh.network, fresh.base, family, ++shared_->opened};
  return fresh;
}

ModelStore::Key ModelStore::key_of(const std::string& kind, const std::string& name) const {
  return {folders_->kind(kind).name, name_as_listed(name)};
}

std::shared_ptr<const PinnedFile> ModelStore::pin_files(const std::filesystem::path& path) const {
  try {
    return PinnedFile::open(folders_->files(path), shared_->writes);
  } catch (const Error& error) {
    // An index that is broken, or a shard that is not there: opening it tells why. Other faults must not leave shards unwatched.
    if (error.code() != ErrorCode::corrupt && error.code() != ErrorCode::not_found && error.code() != ErrorCode::unsupported) throw;
    return PinnedFile::open(std::vector{path}, shared_->writes);
  }
}

ModelStore::FileId ModelStore::id_of(const PinnedFile& file) const {
  FileId id{file.path().string(), file.identities()};
  const std::lock_guard lock(shared_->mutex);
  const auto turn = shared_->turns.find(id.path);
  if (turn != shared_->turns.end()) id.turn = turn->second;
  return id;
}

std::string ModelStore::version_of(const Key& key, const PinnedFile& file) const {
  const FileId id = id_of(file);
  FingerprintBuilder builder;
  builder.add(key.kind).add(id.path).add(id.turn);
  for (const registry::FileIdentity& each : id.files) {
    builder.add(each.device).add(each.inode).add(each.size_bytes).add(each.modified_ns).add(each.changed_ns);
  }
  return builder.finish().hex();
}

std::shared_ptr<ModelStore> ModelStore::for_prompt() const {
  auto store = std::make_shared<ModelStore>(*this);
  store->pins_ = std::make_shared<Pins>();
  return store;
}

void ModelStore::require_intact() const {
  if (!pins_) return;
  std::map<Key, std::shared_ptr<Pin>> all;
  {
    const std::lock_guard lock(pins_->mutex);
    all = pins_->all;
  }
  for (const auto& [key, pin] : all) {
    const std::optional<std::filesystem::path> written = pin->meaning.file->written_to();
    if (!written) continue;
    {
      // What was computed from it is in caches under its version, which has to be another from now on.
      const std::lock_guard lock(shared_->mutex);
      ++shared_->turns[pin->meaning.file->path().string()];
    }
    throw Error(ErrorCode::corrupt, "model: the file was written to while it was in use; a new file has to be put in place by renaming it",
                {{"file", written->string()}, {"kind", key.kind}, {"name", key.name}});
  }
}

std::shared_ptr<ModelStore::Pin> ModelStore::pin(const std::string& kind, const std::string& name) {
  const Key key = key_of(kind, name);
  if (pins_) {
    const std::lock_guard lock(pins_->mutex);
    const auto known = pins_->all.find(key);
    if (known != pins_->all.end()) return known->second;
  }
  auto made = std::make_shared<Pin>();
  made->meaning = look_up(key);
  if (!pins_) return made;
  {
    const std::lock_guard lock(pins_->mutex);
    made = pins_->all.try_emplace(key, made).first->second;  // another node of the prompt may have come first
  }
  const std::lock_guard lock(shared_->mutex);
  shared_->used[key] = made->meaning.version;
  return made;
}

OpenModelPtr ModelStore::model_of(const std::string& kind, const std::string& name) {
  const std::shared_ptr<Pin> found = pin(kind, name);
  const std::lock_guard lock(found->opening);
  Meaning& meaning = found->meaning;
  if (!meaning.model) meaning.model = open_file(key_of(kind, name), meaning.file, meaning.version, false);
  return meaning.model;
}

OpenModelPtr ModelStore::open(const std::string& kind, const std::string& name, bool anew) {
  const Key key = key_of(kind, name);
  const auto file = pin_files(folders_->resolve(key.kind, key.name));
  std::string version = version_of(key, *file);
  if (anew) {
    const std::lock_guard lock(shared_->mutex);
    version = FingerprintBuilder().add(version).add(++shared_->loads).finish().hex();
  }
  return open_file(key, file, std::move(version), anew);
}

OpenModelPtr ModelStore::open_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, std::string version, bool anew) {
  if (file->being_written()) {
    throw Error(ErrorCode::invalid, "model: the file is being written",
                {{"file", file->path().string()}, {"kind", key.kind}, {"name", key.name}, {"busy", "true"}});
  }
  auto out = std::make_shared<OpenModel>();
  out->kind = key.kind;
  out->name = key.name;
  out->version = std::move(version);
  out->file = file;
  read_parts(*out, id_of(*file), anew);
  return out;
}

// Only headers are read here, so opening again costs milliseconds; what is alive is shared.
void ModelStore::read_parts(OpenModel& out, const FileId& id, bool anew) {
  formats::ModelFile file = out.file->read();
  if (out.kind == "loras" || out.kind == "embeddings") {
    const std::lock_guard lock(shared_->mutex);
    if (out.kind == "loras") shared_->adapters[id.path] = id.files;
    out.tensors = std::move(file);
    return;
  }
  const models::WeightMap tensors = models::tensors_of(file);
  if (out.kind == "checkpoints") {
    const models::LoadedCheckpoint fresh = models::load_checkpoint(tensors, id.path, objects_of);
    const std::lock_guard lock(shared_->mutex);
    out.family = fresh.family->name;
    out.model = model_value(share<models::Unet>(shared_->unets, id, fresh.unet, fresh.family, anew), *fresh.family);
    if (fresh.clip) out.clip = clip_value(share<models::ClipTextModel>(shared_->clips, id, *fresh.clip, fresh.family, anew));
    if (fresh.vae) out.vae = vae_value(share<models::Vae>(shared_->vaes, id, *fresh.vae, fresh.family, anew));
  } else if (out.kind == "diffusion_models") {
    const models::LoadedUnet fresh = models::load_unet(tensors, id.path, objects_of);
    const std::lock_guard lock(shared_->mutex);
    out.family = fresh.family->name;
    out.model = model_value(share<models::Unet>(shared_->unets, id, fresh, fresh.family, anew), *fresh.family);
  } else if (out.kind == "text_encoders") {
    const models::LoadedClip fresh = models::load_clip(tensors, id.path);
    const std::lock_guard lock(shared_->mutex);
    out.clip = clip_value(share<models::ClipTextModel>(shared_->clips, id, fresh, nullptr, anew));
  } else if (out.kind == "vae") {
    const models::LoadedVae fresh = models::load_vae(tensors, id.path);
    const std::lock_guard lock(shared_->mutex);
    out.vae = vae_value(share<models::Vae>(shared_->vaes, id, fresh, nullptr, anew));
  } else {
    throw Error(ErrorCode::unsupported, "model: no node loads models of this kind", {{"kind", out.kind}});
  }
}

ModelStore::Checkpoint ModelStore::checkpoint(const std::string& name) {
  const OpenModelPtr model = model_of("checkpoints", name);
  return {.model = model->model, .clip = model->clip, .vae = model->vae};
}

VaeValue ModelStore::vae(const std::string& name) { return model_of("vae", name)->vae.value(); }

ModelValue ModelStore::diffusion_model(const std::string& name) { return model_of("diffusion_models", name)->model.value(); }

ClipValue ModelStore::text_encoder(const std::string& name) { return model_of("text_encoders", name)->clip.value(); }

formats::ModelFile ModelStore::lora(const std::string& name) { return model_of("loras", name)->tensors.value(); }

std::optional<std::string> ModelStore::embedding_name(std::string_view name) const {
  std::string full = folders_->embedding_name(name);
  if (!full.empty()) return full;
  const std::lock_guard lock(shared_->mutex);
  for (const char* extension : {"", ".safetensors", ".pt", ".bin"}) {
    Key key = key_of("embeddings", std::string(name) + extension);
    const auto bound = shared_->bound.find(key);
    if (bound != shared_->bound.end() && !bound->second.lost) return std::move(key.name);
  }
  return std::nullopt;
}

std::optional<Tensor> ModelStore::embedding(std::string_view name, const models::ClipKind& kind) {
  const std::optional<std::string> full = embedding_name(name);
  if (!full) return std::nullopt;
  return models::read_textual_inversion(model_of("embeddings", *full)->tensors.value(), kind);
}

std::string ModelStore::embedding_version(std::string_view name) {
  const std::optional<std::string> full = embedding_name(name);
  return full ? file_version("embeddings", *full) : "";
}

std::string ModelStore::file_version(const std::string& kind, const std::string& name) { return pin(kind, name)->meaning.version; }

std::string ModelStore::version_in_use(const std::string& kind, const std::string& name) const {
  const Key key = key_of(kind, name);
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->used.find(key);
  return at == shared_->used.end() ? "" : at->second;
}

std::shared_ptr<const models::BpeVocabulary> ModelStore::vocabulary() {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->vocabulary) shared_->vocabulary = models::BpeVocabulary::clip();
  return shared_->vocabulary;
}

ModelValue ModelStore::model_value(const models::Loaded<models::Unet>& loaded, const models::FamilyDef& family) const {
  return {
      .patcher = variant::ModelPatcher(loaded.base, runtime_, dtype_), .network = loaded.network, .latent_scaling = {.scale = family.latent_scale}};
}

ClipValue ModelStore::clip_value(const models::LoadedClip& loaded) const {
  return {.patcher = variant::ModelPatcher(loaded.base, runtime_, DType::f32), .network = loaded.network, .layer = std::nullopt};
}

VaeValue ModelStore::vae_value(const models::LoadedVae& loaded) const {
  return {.patcher = variant::ModelPatcher(loaded.base, runtime_, dtype_), .network = loaded.network};
}

}  // namespace veneer::nodes
