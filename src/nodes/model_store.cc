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

// Tells the shards of an index from others; empty for a model of one file, for one that is gone and for an index that is broken: opening it tells
// why.
std::string shards_of(const registry::ModelFolders& folders, const std::filesystem::path& model) {
  try {
    const std::vector<std::filesystem::path> files = folders.files(model);
    if (files.size() == 1) return {};
    FingerprintBuilder out;
    for (const registry::FileIdentity& id : registry::identify_all(files)) {
      out.add(id.device).add(id.inode).add(id.size_bytes).add(id.modified_ns).add(id.changed_ns);
    }
    return out.finish().hex();
  } catch (const Error&) {
    return {};
  }
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
  parts[id] = {fresh.network, fresh.base, family};
  return fresh;
}

ModelStore::Key ModelStore::key_of(const std::string& kind, const std::string& name) const {
  return {folders_->kind(kind).name, name_as_listed(name)};
}

std::string ModelStore::version_of(const Key& key, const PinnedFile& file) const {
  const registry::FileIdentity& id = file.identity();
  FingerprintBuilder builder;
  builder.add(key.kind).add(file.path().string()).add(id.device).add(id.inode).add(id.size_bytes).add(id.modified_ns).add(id.changed_ns);
  return builder.add(shards_of(*folders_, file.path())).finish().hex();
}

ModelStore::PromptScope::PromptScope(ModelStore& store) : store_(store) {
  const std::lock_guard lock(store_.mutex_);
  store_.prompts_[std::this_thread::get_id()].clear();
}

ModelStore::PromptScope::~PromptScope() {
  Pins dropped;  // after the lock: models that only the prompt had are let go here
  const std::lock_guard lock(store_.mutex_);
  const auto at = store_.prompts_.find(std::this_thread::get_id());
  if (at == store_.prompts_.end()) return;
  dropped.swap(at->second);
  store_.prompts_.erase(at);
}

void ModelStore::require_intact() const {
  const std::lock_guard lock(mutex_);
  const auto prompt = prompts_.find(std::this_thread::get_id());
  if (prompt == prompts_.end()) return;
  for (const auto& [key, pin] : prompt->second) {
    if (!pin->file->changed_in_place()) continue;
    throw Error(ErrorCode::corrupt, "model: the file was written to while it was in use; a new file has to be put in place by renaming it",
                {{"file", pin->file->path().string()}, {"kind", key.kind}, {"name", key.name}});
  }
}

std::shared_ptr<ModelStore::Pin> ModelStore::pin(const std::string& kind, const std::string& name) {
  const Key key = key_of(kind, name);
  const std::thread::id thread = std::this_thread::get_id();
  {
    const std::lock_guard lock(mutex_);
    const auto prompt = prompts_.find(thread);
    const auto known = prompt == prompts_.end() ? Pins::iterator() : prompt->second.find(key);
    if (prompt != prompts_.end() && known != prompt->second.end()) return known->second;
  }
  auto made = std::make_shared<Pin>(look_up(key));
  const std::lock_guard lock(mutex_);
  const auto prompt = prompts_.find(thread);
  if (prompt != prompts_.end()) {
    prompt->second[key] = made;
    used_[key] = made->version;
  }
  return made;
}

OpenModelPtr ModelStore::model_of(const std::string& kind, const std::string& name) {
  const std::shared_ptr<Pin> found = pin(kind, name);
  // Only the prompt's own thread comes here with its pins.
  if (!found->model) found->model = open_file(key_of(kind, name), found->file, found->version, false);
  return found->model;
}

OpenModelPtr ModelStore::open(const std::string& kind, const std::string& name, bool anew) {
  const Key key = key_of(kind, name);
  const auto file = PinnedFile::open(folders_->resolve(key.kind, key.name));
  std::string version = version_of(key, *file);
  if (anew) {
    const std::lock_guard lock(mutex_);
    version = FingerprintBuilder().add(version).add(++loads_).finish().hex();
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
  read_parts(*out, {file->path().string(), file->identity(), shards_of(*folders_, file->path())}, anew);
  return out;
}

// Only headers are read here, so opening again costs milliseconds; what is alive is shared.
void ModelStore::read_parts(OpenModel& out, const FileId& id, bool anew) {
  formats::ModelFile file = out.file->read();
  if (out.kind == "loras" || out.kind == "embeddings") {
    const std::lock_guard lock(mutex_);
    if (out.kind == "loras") adapters_[id.path] = id.identity;
    out.tensors = std::move(file);
    return;
  }
  const models::WeightMap tensors = models::tensors_of(file);
  if (out.kind == "checkpoints") {
    const models::LoadedCheckpoint fresh = models::load_checkpoint(tensors, id.path, objects_of);
    const std::lock_guard lock(mutex_);
    out.family = fresh.family->name;
    out.model = model_value(share<models::Unet>(unets_, id, fresh.unet, fresh.family, anew), *fresh.family);
    if (fresh.clip) out.clip = clip_value(share<models::ClipTextModel>(clips_, id, *fresh.clip, fresh.family, anew));
    if (fresh.vae) out.vae = vae_value(share<models::Vae>(vaes_, id, *fresh.vae, fresh.family, anew));
  } else if (out.kind == "diffusion_models") {
    const models::LoadedUnet fresh = models::load_unet(tensors, id.path, objects_of);
    const std::lock_guard lock(mutex_);
    out.family = fresh.family->name;
    out.model = model_value(share<models::Unet>(unets_, id, fresh, fresh.family, anew), *fresh.family);
  } else if (out.kind == "text_encoders") {
    const models::LoadedClip fresh = models::load_clip(tensors, id.path);
    const std::lock_guard lock(mutex_);
    out.clip = clip_value(share<models::ClipTextModel>(clips_, id, fresh, nullptr, anew));
  } else if (out.kind == "vae") {
    const models::LoadedVae fresh = models::load_vae(tensors, id.path);
    const std::lock_guard lock(mutex_);
    out.vae = vae_value(share<models::Vae>(vaes_, id, fresh, nullptr, anew));
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
  return full.empty() ? std::nullopt : std::optional(std::move(full));
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

std::string ModelStore::file_version(const std::string& kind, const std::string& name) { return pin(kind, name)->version; }

std::string ModelStore::version_in_use(const std::string& kind, const std::string& name) const {
  const Key key = key_of(kind, name);
  const std::lock_guard lock(mutex_);
  const auto at = used_.find(key);
  return at == used_.end() ? "" : at->second;
}

std::shared_ptr<const models::BpeVocabulary> ModelStore::vocabulary() {
  const std::lock_guard lock(mutex_);
  if (!vocabulary_) vocabulary_ = models::BpeVocabulary::clip();
  return vocabulary_;
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
