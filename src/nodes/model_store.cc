#include "nodes/model_store.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

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

}  // namespace

ModelStore::ModelStore(std::shared_ptr<const registry::ModelFolders> folders, std::shared_ptr<const variant::Runtime> runtime, DType dtype)
    : folders_(std::move(folders)), runtime_(std::move(runtime)), dtype_(dtype) {}

ModelStore::FileId ModelStore::identify(const std::filesystem::path& path) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) {
    throw Error(ErrorCode::not_found, "model: cannot open the file", {{"file", path.string()}, {"reason", std::strerror(errno)}});
  }
  return {.path = path.string(),
          .device = facts.st_dev,
          .inode = facts.st_ino,
          .size_bytes = static_cast<uint64_t>(facts.st_size),
          .modified_ns = facts.st_mtim.tv_sec * 1'000'000'000LL + facts.st_mtim.tv_nsec};
}

template <typename Network>
std::optional<models::Loaded<Network>> ModelStore::find(const Parts<Network>& parts, const FileId& id) {
  const auto it = parts.find(id);
  if (it == parts.end()) return std::nullopt;
  models::Loaded<Network> loaded{it->second.network.lock(), it->second.base.lock()};
  if (!loaded.network || !loaded.base) return std::nullopt;
  return loaded;
}

template <typename Network>
models::Loaded<Network> ModelStore::share(Parts<Network>& parts, const FileId& id, const models::Loaded<Network>& fresh,
                                          const models::FamilyDef* family) {
  if (auto alive = find(parts, id)) return *alive;
  std::erase_if(parts, [](const auto& entry) { return entry.second.base.expired(); });
  parts[id] = {fresh.network, fresh.base, family};
  return fresh;
}

ModelStore::Checkpoint ModelStore::checkpoint(const std::string& name) {
  const std::filesystem::path path = folders_->resolve("checkpoints", name);
  const FileId id = identify(path);
  // Only the header is read here, so opening again costs milliseconds; what is alive is shared.
  const models::LoadedCheckpoint fresh = models::load_checkpoint(path, objects_of);
  const std::lock_guard lock(mutex_);
  Checkpoint out;
  out.model = model_value(share<models::Unet>(unets_, id, fresh.unet, fresh.family), *fresh.family);
  if (fresh.clip) out.clip = clip_value(share<models::ClipTextModel>(clips_, id, *fresh.clip, fresh.family));
  if (fresh.vae) out.vae = vae_value(share<models::Vae>(vaes_, id, *fresh.vae, fresh.family));
  return out;
}

VaeValue ModelStore::vae(const std::string& name) {
  const std::filesystem::path path = folders_->resolve("vae", name);
  const FileId id = identify(path);
  const models::LoadedVae fresh = models::load_vae(path);
  const std::lock_guard lock(mutex_);
  return vae_value(share<models::Vae>(vaes_, id, fresh, nullptr));
}

ModelValue ModelStore::diffusion_model(const std::string& name) {
  const std::filesystem::path path = folders_->resolve("diffusion_models", name);
  const FileId id = identify(path);
  const models::LoadedUnet fresh = models::load_unet(path, objects_of);
  const std::lock_guard lock(mutex_);
  return model_value(share<models::Unet>(unets_, id, fresh, fresh.family), *fresh.family);
}

ClipValue ModelStore::text_encoder(const std::string& name) {
  const std::filesystem::path path = folders_->resolve("text_encoders", name);
  const FileId id = identify(path);
  const models::LoadedClip fresh = models::load_clip(path);
  const std::lock_guard lock(mutex_);
  return clip_value(share<models::ClipTextModel>(clips_, id, fresh, nullptr));
}

formats::ModelFile ModelStore::lora(const std::string& name) { return formats::ModelFile::open(folders_->resolve("loras", name)); }

std::optional<Tensor> ModelStore::embedding(std::string_view name, const models::ClipKind& kind) {
  for (const char* extension : {"", ".safetensors", ".pt", ".bin"}) {
    const auto path = folders_->find("embeddings", std::string(name) + extension);
    if (path) return models::read_textual_inversion(formats::ModelFile::open(*path), kind);
  }
  return std::nullopt;
}

std::string ModelStore::file_version(const std::string& kind, const std::string& name) const {
  const FileId id = identify(folders_->resolve(kind, name));
  return FingerprintBuilder().add(id.path).add(id.device).add(id.inode).add(id.size_bytes).add(id.modified_ns).finish().hex();
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
