// What names stand for: bindings, and models whose file is another by now.
#include <sys/stat.h>

#include <algorithm>

#include "models/family/family.h"
#include "nodes/model_store.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

std::optional<registry::FileIdentity> identity_now(const std::string& path) {
  try {
    return registry::identify(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ModelStore::Pin ModelStore::look_up(const Key& key) {
  std::shared_ptr<const PinnedFile> file;
  try {
    file = PinnedFile::open(folders_->resolve(key.kind, key.name));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) unbind(key.kind, key.name);
    throw;
  }
  OpenModelPtr bound;
  {
    const std::lock_guard lock(mutex_);
    const auto at = bound_.find(key);
    if (at == bound_.end()) return {file, version_of(key, *file), nullptr};
    bound = at->second.model;
    const bool intact = !bound->file->changed_in_place();
    const bool current = at->second.file == file->identity() || at->second.refused == file->identity();
    if (intact && current) return {bound->file, bound->version, bound};
    if (!intact) {
      // Its content is lost: whatever is there now has to serve.
      bound_.erase(at);
      return {file, version_of(key, *file), nullptr};
    }
  }
  OpenModelPtr opened;
  std::string fault;
  try {
    opened = open_file(key, file, version_of(key, *file), false);
  } catch (const Error& error) {
    fault = error.what();
    // Once it is written, it is looked at again.
    if (!error.find("busy").empty()) return {bound->file, bound->version, bound};
  }
  const std::lock_guard lock(mutex_);
  const auto at = bound_.find(key);
  if (at == bound_.end() || at->second.model != bound) {  // a reload came first
    if (opened) return {opened->file, opened->version, opened};
    return {bound->file, bound->version, bound};
  }
  if (opened) {
    at->second = {opened, "", opened->file->identity(), std::nullopt, ""};
    return {opened->file, opened->version, opened};
  }
  at->second.refused = file->identity();
  at->second.fault = fault;
  return {bound->file, bound->version, bound};
}

template <typename Network>
void ModelStore::supersede(Parts<Network>& parts, const FileId& id, const std::shared_ptr<const Network>& network,
                           const std::shared_ptr<const variant::BaseModel>& base) {
  Part<Network>& part = parts[id];
  const auto before = part.base.lock();
  if (before && before != base) superseded_.insert(before->identity());
  part.network = network;
  part.base = base;
}

void ModelStore::bind(const OpenModelPtr& model, std::string sha256) {
  OpenModelPtr before;  // let go after the lock
  const std::lock_guard lock(mutex_);
  const FileId id{model->file->path().string(), model->file->identity()};
  if (model->model) supersede(unets_, id, model->model->network, model->model->patcher.model());
  if (model->clip) supersede(clips_, id, model->clip->network, model->clip->patcher.model());
  if (model->vae) supersede(vaes_, id, model->vae->network, model->vae->patcher.model());
  Bound& bound = bound_[{model->kind, model->name}];
  before = std::move(bound.model);
  bound = {model, std::move(sha256), id.identity, std::nullopt, ""};
}

void ModelStore::rebind(const OpenModelPtr& model, const registry::FileIdentity& identity, std::string sha256) {
  const std::lock_guard lock(mutex_);
  const auto at = bound_.find({model->kind, model->name});
  if (at == bound_.end() || at->second.model != model) return;
  at->second.file = identity;
  at->second.sha256 = std::move(sha256);
  at->second.refused.reset();
  at->second.fault.clear();
}

bool ModelStore::unbind(const std::string& kind, const std::string& name) {
  const Key key = key_of(kind, name);
  Bound dropped;  // let go after the lock
  const std::lock_guard lock(mutex_);
  const auto at = bound_.find(key);
  if (at == bound_.end()) return false;
  dropped = std::move(at->second);
  bound_.erase(at);
  return true;
}

OpenModelPtr ModelStore::earlier_model(const Key& key, const FileId& now) const {
  auto out = std::make_shared<OpenModel>();
  out->kind = key.kind;
  out->name = key.name;
  const FileId* id = nullptr;
  bool whole = true;
  const auto take = [&](const auto& parts, const auto& set) {
    for (const auto& [at, part] : parts) {
      if (at.path != now.path || at.identity == now.identity || at.identity.inode == now.identity.inode || !whole) continue;
      const auto alive = find(parts, at);
      whole = alive.has_value() && (id == nullptr || *id == at);
      if (!whole) return;
      id = &at;
      set(*alive, part.family);
    }
  };
  if (key.kind != "checkpoints" && key.kind != "diffusion_models" && key.kind != "text_encoders" && key.kind != "vae") return nullptr;
  take(unets_, [&](const auto& alive, const models::FamilyDef* family) {
    if (family == nullptr) return;
    out->family = family->name;
    out->model = model_value(alive, *family);
  });
  take(clips_, [&](const auto& alive, const models::FamilyDef*) { out->clip = clip_value({alive}); });
  take(vaes_, [&](const auto& alive, const models::FamilyDef*) { out->vae = vae_value({alive}); });
  const bool needs_model = key.kind == "checkpoints" || key.kind == "diffusion_models";
  if (!whole || id == nullptr || (needs_model && !out->model) || (key.kind == "text_encoders" && !out->clip) || (key.kind == "vae" && !out->vae)) {
    return nullptr;
  }
  out->file = PinnedFile::gone(id->path, id->identity);
  out->version = version_of(key, *out->file);
  return out;
}

void ModelStore::keep_serving(const std::string& kind, const std::string& name) {
  const Key key = key_of(kind, name);
  const std::optional<std::filesystem::path> path = folders_->find(key.kind, key.name);
  const auto identity = path ? identity_now(path->string()) : std::nullopt;
  if (!identity) return;
  const std::lock_guard lock(mutex_);
  if (bound_.contains(key)) return;
  const OpenModelPtr earlier = earlier_model(key, {path->string(), *identity});
  if (earlier) bound_[key] = {earlier, "", earlier->file->identity(), *identity, "a reload of it failed"};
}

std::optional<ModelStore::Binding> ModelStore::binding(const std::string& kind, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto at = bound_.find(key_of(kind, name));
  if (at == bound_.end()) return std::nullopt;
  return Binding{at->second.model, at->second.sha256, at->second.fault};
}

std::vector<ModelStore::Binding> ModelStore::bindings() const {
  const std::lock_guard lock(mutex_);
  std::vector<Binding> out;
  for (const auto& [key, bound] : bound_) out.push_back({bound.model, bound.sha256, bound.fault});
  return out;
}

bool ModelStore::stands_for(const FileId& id) {
  const bool bound = std::ranges::any_of(bound_, [&](const auto& entry) {
    const PinnedFile& file = *entry.second.model->file;
    return file.identity() == id.identity && file.path() == id.path;
  });
  if (bound) return true;
  const std::optional<registry::FileIdentity> now = identity_now(id.path);
  return now && (*now == id.identity || !is_model(id.path, *now));
}

bool ModelStore::is_model(const std::string& path, const registry::FileIdentity& now) {
  const auto known = broken_.find(path);
  if (known != broken_.end() && known->second == now) return false;
  try {
    const auto file = PinnedFile::open(path);
    if (file->being_written()) return false;
    (void)file->read();
    broken_.erase(path);
    return true;
  } catch (const Error&) {
    broken_[path] = now;
    return false;
  }
}

template <typename Network>
void ModelStore::collect_stale(const Parts<Network>& parts, std::set<Fingerprint>& bases) {
  for (const auto& [id, part] : parts) {
    const auto base = part.base.lock();
    if (base && !stands_for(id)) bases.insert(base->identity());
  }
}

uint64_t ModelStore::mapped_bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t bytes = 0;
  const auto add = [&](const auto& parts) {
    for (const auto& [id, part] : parts) {
      if (const auto base = part.base.lock()) bytes += base->size_bytes();
    }
  };
  add(unets_);
  add(clips_);
  add(vaes_);
  return bytes;
}

void ModelStore::drop_lost_bindings() {
  std::vector<Key> keys;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, bound] : bound_) keys.push_back(key);
  }
  for (const Key& key : keys) {
    try {
      look_up(key);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): there is no file of that name any more, and so no binding
    }
  }
}

ModelStore::Stale ModelStore::take_stale() {
  drop_lost_bindings();
  Stale out;
  const std::lock_guard lock(mutex_);
  collect_stale(unets_, out.bases);
  collect_stale(clips_, out.bases);
  collect_stale(vaes_, out.bases);
  out.bases.merge(std::exchange(superseded_, {}));
  std::erase_if(adapters_, [&](const auto& entry) {
    const bool changed = identity_now(entry.first) != entry.second;
    out.adapters = out.adapters || changed;
    return changed;
  });
  return out;
}

}  // namespace veneer::nodes
