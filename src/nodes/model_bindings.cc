// What names stand for: bindings, and models whose file is another by now.
#include <algorithm>
#include <set>
#include <utility>

#include "models/family/family.h"
#include "nodes/model_store.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

// Why a path is no file that could be opened.
std::string what_lies_there(const std::filesystem::path& path) {
  std::error_code unknown;
  switch (std::filesystem::status(path, unknown).type()) {
    case std::filesystem::file_type::not_found: return "there is no file of this name any more";
    case std::filesystem::file_type::directory: return "there is a folder in the place of the file";
    case std::filesystem::file_type::regular: return "the file cannot be opened";
    default: return "what lies in the place of the file is no regular file";
  }
}

// Whether one of the files is there still, with other content.
bool are_written_over(const FileIdentities& before, const FileIdentities& now) {
  return std::ranges::any_of(before, [&](const registry::FileIdentity& was) {
    return std::ranges::any_of(now, [&](const registry::FileIdentity& is) {
      return is.device == was.device && is.inode == was.inode && (is.size_bytes != was.size_bytes || is.modified_ns != was.modified_ns);
    });
  });
}

// But for what renaming, linking and other rights change.
bool are_same_files(const FileIdentities& a, const FileIdentities& b) {
  return std::ranges::equal(a, b, [](const registry::FileIdentity& one, const registry::FileIdentity& other) {
    return one.device == other.device && one.inode == other.inode && one.size_bytes == other.size_bytes && one.modified_ns == other.modified_ns;
  });
}

}  // namespace

std::optional<FileIdentities> ModelStore::identities_now(const std::string& path) const {
  try {
    return registry::identify_all(folders_->files(path));
  } catch (const Error&) {
    try {
      return FileIdentities{registry::identify(path)};
    } catch (const Error&) {
      return std::nullopt;
    }
  }
}

ModelStore::Meaning ModelStore::without_file(const Key& key, const Error& why) {
  OpenModelPtr lost;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at == shared_->bound.end()) throw Error(why);
  Bound& bound = at->second;
  if (bound.model->file->written_to()) {
    lost = std::move(bound.model);
    shared_->bound.erase(at);
    throw Error(why);
  }
  bound.refused.reset();
  bound.fault = what_lies_there(bound.model->file->path());
  return {bound.model->file, bound.model->version, bound.model};
}

ModelStore::Meaning ModelStore::look_up(const Key& key) {
  std::shared_ptr<const PinnedFile> file;
  try {
    file = pin_files(folders_->resolve(key.kind, key.name));
  } catch (const Error& error) {
    return without_file(key, error);
  }
  OpenModelPtr bound, lost;  // let go after the lock
  {
    const std::lock_guard lock(shared_->mutex);
    const auto at = shared_->bound.find(key);
    if (at != shared_->bound.end()) {
      bound = at->second.model;
      if (bound->file->written_to()) {
        // Its content is lost: whatever is there now has to serve.
        ++shared_->turns[bound->file->path().string()];
        lost = std::exchange(bound, nullptr);
        shared_->bound.erase(at);
      } else if (at->second.files == file->identities() || are_same_files(bound->file->identities(), file->identities())) {
        // Names and rights may have changed: the bound model's own files are watched for writes.
        at->second.files = file->identities();
        at->second.refused.reset();
        at->second.fault.clear();
        return {bound->file, bound->version, bound};
      } else if (at->second.refused == file->identities()) {
        return {bound->file, bound->version, bound};
      }
    }
  }
  if (!bound) return {file, version_of(key, *file), nullptr};
  return take_new_file(key, file, bound);
}

// Another file lies under a name that is bound: it serves if it is a model.
ModelStore::Meaning ModelStore::take_new_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, const OpenModelPtr& bound) {
  OpenModelPtr opened;
  std::string fault;
  bool is_no_model = false;
  try {
    opened = open_file(key, file, version_of(key, *file), false);
  } catch (const Error& error) {
    fault = error.what();
    // Other faults may be over the next time: too many open files, a disk that does not answer.
    is_no_model = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported;
    // Once it is written, it is looked at again.
    if (!error.find("busy").empty()) return {bound->file, bound->version, bound};
  }
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at == shared_->bound.end() || at->second.model != bound) {  // a reload came first
    if (opened) return {opened->file, opened->version, opened};
    return {bound->file, bound->version, bound};
  }
  if (opened) {
    at->second = {opened, "", opened->file->identities(), std::nullopt, ""};
    return {opened->file, opened->version, opened};
  }
  if (is_no_model) at->second.refused = file->identities();
  at->second.fault = fault;
  return {bound->file, bound->version, bound};
}

template <typename Network>
void ModelStore::supersede(Parts<Network>& parts, const FileId& id, const std::shared_ptr<const Network>& network,
                           const std::shared_ptr<const variant::BaseModel>& base) {
  Part<Network>& part = parts[id];
  const auto before = part.base.lock();
  if (before && before != base) shared_->superseded.insert(before->identity());
  part.network = network;
  part.base = base;
}

void ModelStore::bind(const OpenModelPtr& model, std::string sha256) {
  const FileId id = id_of(*model->file);
  OpenModelPtr before;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  if (model->model) supersede(shared_->unets, id, model->model->network, model->model->patcher.model());
  if (model->clip) supersede(shared_->clips, id, model->clip->network, model->clip->patcher.model());
  if (model->vae) supersede(shared_->vaes, id, model->vae->network, model->vae->patcher.model());
  Bound& bound = shared_->bound[{model->kind, model->name}];
  before = std::move(bound.model);
  bound = {model, std::move(sha256), id.files, std::nullopt, ""};
}

void ModelStore::rebind(const OpenModelPtr& model, const FileIdentities& files, std::string sha256) {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find({model->kind, model->name});
  if (at == shared_->bound.end() || at->second.model != model) return;
  at->second.files = files;
  at->second.sha256 = std::move(sha256);
  at->second.refused.reset();
  at->second.fault.clear();
}

void ModelStore::set_hash(const OpenModelPtr& model, std::string sha256) {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find({model->kind, model->name});
  if (at != shared_->bound.end() && at->second.model == model) at->second.sha256 = std::move(sha256);
}

bool ModelStore::unbind(const std::string& kind, const std::string& name) {
  const Key key = key_of(kind, name);
  Bound dropped;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at == shared_->bound.end()) return false;
  dropped = std::move(at->second);
  shared_->bound.erase(at);
  return true;
}

std::shared_ptr<OpenModel> ModelStore::earlier_model(const Key& key, const FileId& now) const {
  auto out = std::make_shared<OpenModel>();
  out->kind = key.kind;
  out->name = key.name;
  // The one other version of which anything is alive.
  std::set<FileId> versions;
  const auto collect = [&](const auto& parts) {
    for (const auto& [at, part] : parts) {
      const bool other = at.path == now.path && at.files != now.files && !are_written_over(at.files, now.files);
      if (other && find(parts, at)) versions.insert(at);
    }
  };
  collect(shared_->unets);
  collect(shared_->clips);
  collect(shared_->vaes);
  if (versions.size() != 1) return nullptr;
  const FileId& id = *versions.begin();
  bool whole = true;
  const auto take = [&](const auto& parts, const auto& set) {
    const auto at = parts.find(id);
    if (at == parts.end()) return;
    const auto alive = find(parts, id);
    whole = whole && alive.has_value();
    if (alive) set(*alive, at->second.family);
  };
  if (key.kind != "checkpoints" && key.kind != "diffusion_models" && key.kind != "text_encoders" && key.kind != "vae") return nullptr;
  take(shared_->unets, [&](const auto& alive, const models::FamilyDef* family) {
    if (family == nullptr) return;
    out->family = family->name;
    out->model = model_value(alive, *family);
  });
  take(shared_->clips, [&](const auto& alive, const models::FamilyDef*) { out->clip = clip_value({alive}); });
  take(shared_->vaes, [&](const auto& alive, const models::FamilyDef*) { out->vae = vae_value({alive}); });
  const bool needs_model = key.kind == "checkpoints" || key.kind == "diffusion_models";
  if (!whole || (needs_model && !out->model) || (key.kind == "text_encoders" && !out->clip) || (key.kind == "vae" && !out->vae)) {
    return nullptr;
  }
  out->file = PinnedFile::gone(id.path, id.files);
  return out;
}

void ModelStore::keep_serving(const std::string& kind, const std::string& name, const std::string& fault) {
  const Key key = key_of(kind, name);
  const std::optional<std::filesystem::path> path = folders_->find(key.kind, key.name);
  const auto files = path ? identities_now(path->string()) : std::nullopt;
  if (!files) return;
  std::shared_ptr<OpenModel> earlier;
  {
    const std::lock_guard lock(shared_->mutex);
    const auto bound = shared_->bound.find(key);
    if (bound == shared_->bound.end()) {
      earlier = earlier_model(key, {path->string(), *files});
    } else if (bound->second.files != *files) {
      // Else the next prompt would let the file take the name by itself.
      bound->second.refused = *files;
      bound->second.fault = fault;
    }
  }
  if (!earlier) return;
  earlier->version = version_of(key, *earlier->file);
  const std::lock_guard lock(shared_->mutex);
  shared_->bound.try_emplace(key, Bound{earlier, "", earlier->file->identities(), *files, fault});
}

std::optional<ModelStore::Binding> ModelStore::binding(const std::string& kind, const std::string& name) const {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key_of(kind, name));
  if (at == shared_->bound.end()) return std::nullopt;
  return Binding{at->second.model, at->second.sha256, at->second.fault};
}

std::vector<ModelStore::Binding> ModelStore::bindings() const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<Binding> out;
  for (const auto& [key, bound] : shared_->bound) out.push_back({bound.model, bound.sha256, bound.fault});
  return out;
}

bool ModelStore::stands_for(const FileId& id) {
  const bool bound = std::ranges::any_of(shared_->bound, [&](const auto& entry) {
    const PinnedFile& file = *entry.second.model->file;
    return file.identities() == id.files && file.path() == id.path;
  });
  if (bound) return true;
  const auto turn = shared_->turns.find(id.path);
  if (turn != shared_->turns.end() && turn->second != id.turn) return false;
  const std::optional<FileIdentities> now = identities_now(id.path);
  return now && (*now == id.files || !is_model(id.path, *now));
}

bool ModelStore::is_model(const std::string& path, const FileIdentities& now) {
  const auto known = shared_->broken.find(path);
  if (known != shared_->broken.end() && known->second == now) return false;
  try {
    const auto file = pin_files(path);
    if (file->being_written()) return false;
    (void)file->read();
    shared_->broken.erase(path);
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported) shared_->broken[path] = now;
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
  const std::lock_guard lock(shared_->mutex);
  uint64_t bytes = 0;
  const auto add = [&](const auto& parts) {
    for (const auto& [id, part] : parts) {
      if (const auto base = part.base.lock()) bytes += base->size_bytes();
    }
  };
  add(shared_->unets);
  add(shared_->clips);
  add(shared_->vaes);
  return bytes;
}

void ModelStore::look_at_bindings() {
  std::vector<Key> keys;
  {
    const std::lock_guard lock(shared_->mutex);
    for (const auto& [key, bound] : shared_->bound) keys.push_back(key);
  }
  for (const Key& key : keys) {
    try {
      look_up(key);
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch): there is neither a file nor a binding of the name any more
    }
  }
}

std::vector<std::string> ModelStore::names(const std::string& kind) const {
  std::vector<std::string> out = folders_->list(kind);
  const Key first = {folders_->kind(kind).name, ""};
  const std::lock_guard lock(shared_->mutex);
  for (auto at = shared_->bound.lower_bound(first); at != shared_->bound.end() && at->first.kind == first.kind; ++at) {
    const auto place = std::ranges::lower_bound(out, at->first.name);
    if (place == out.end() || *place != at->first.name) out.insert(place, at->first.name);
  }
  return out;
}

ModelStore::Stale ModelStore::take_stale() {
  look_at_bindings();
  Stale out;
  const std::lock_guard lock(shared_->mutex);
  collect_stale(shared_->unets, out.bases);
  collect_stale(shared_->clips, out.bases);
  collect_stale(shared_->vaes, out.bases);
  out.bases.merge(std::exchange(shared_->superseded, {}));
  std::erase_if(shared_->adapters, [&](const auto& entry) {
    const bool changed = identities_now(entry.first) != entry.second;
    out.adapters = out.adapters || changed;
    return changed;
  });
  return out;
}

}  // namespace veneer::nodes
