// What names are bound to, and what becomes of it as files come and go.
#include <algorithm>
#include <utility>

#include "formats/write_model.h"
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

// What became of a model whose content is lost.
std::string spoilt(const std::string& now) {
  return "the file was written to in place while it was loaded, so that what was loaded is lost" + (now.empty() ? "" : "; what is there now: " + now);
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

std::optional<FileIdentities> ModelStore::files_of(const std::string& kind, const std::string& name) const {
  const Key key = key_of(kind, name);
  const std::optional<std::filesystem::path> path = folders_->find(key.kind, key.name);
  return path ? identities_now(path->string()) : std::nullopt;
}

std::optional<ModelStore::Bound> ModelStore::find_bound(const Key& key) const {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  return at == shared_->bound.end() ? std::nullopt : std::optional(at->second);
}

std::optional<ModelStore::Bound> ModelStore::look_at_bound(const Key& key) {
  std::optional<Bound> out = find_bound(key);
  if (!out || out->lost || !out->model->file->written_to()) return out;
  const OpenModel& was = *out->model;
  auto facts = std::make_shared<OpenModel>();
  facts->kind = was.kind;
  facts->name = was.name;
  facts->version = was.version;
  facts->family = was.family;
  facts->file = PinnedFile::gone(was.file->path(), was.file->identities());
  Bound lost{std::move(facts), out->sha256, {}, std::nullopt, spoilt("")};
  lost.lost = true;
  // `lost` and `out` let go of the model after the lock.
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at == shared_->bound.end()) return std::nullopt;
  if (at->second.model != out->model) return at->second;  // a reload came first
  ++shared_->turns[was.file->path().string()];
  std::swap(at->second, lost);
  return at->second;
}

template <typename Change>
void ModelStore::change_bound(const Key& key, const OpenModelPtr& model, Change change) {
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at != shared_->bound.end() && at->second.model == model) change(at->second);
}

ModelStore::Meaning ModelStore::serving(const Key& key, const Bound& bound) {
  if (!bound.lost) return {bound.model->file, bound.model->version, bound.model};
  throw Error(ErrorCode::corrupt, "model: nothing serves under the name that was loaded",
              {{"kind", key.kind}, {"name", key.name}, {"file", bound.model->file->path().string()}, {"reason", bound.fault}});
}

ModelStore::Meaning ModelStore::without_file(const Key& key, const Error& why) {
  const std::optional<Bound> bound = look_at_bound(key);
  if (!bound) throw Error(why);
  const std::string there = what_lies_there(bound->model->file->path());
  change_bound(key, bound->model, [&](Bound& now) {
    now.refused.reset();
    now.unchecked.reset();
    now.fault = now.lost ? spoilt(there) : there;
  });
  if (bound->lost) throw Error(why);
  return serving(key, *bound);
}

ModelStore::Meaning ModelStore::look_up(const Key& key) {
  std::shared_ptr<const PinnedFile> file;
  try {
    file = pin_files(folders_->resolve(key.kind, key.name));
  } catch (const Error& error) {
    return without_file(key, error);
  }
  const std::optional<Bound> bound = look_at_bound(key);
  if (!bound) return {file, version_of(key, *file), nullptr};
  if (!bound->lost && (bound->files == file->identities() || are_same_files(bound->model->file->identities(), file->identities()))) {
    // Names and rights may have changed: the bound model's own files are watched for writes.
    change_bound(key, bound->model, [&](Bound& now) {
      now.files = file->identities();
      now.refused.reset();
      now.unchecked.reset();
      now.fault.clear();
    });
    return serving(key, *bound);
  }
  if (bound->refused == file->identities() || bound->unchecked == file->identities()) return serving(key, *bound);
  return take_new_file(key, file, *bound);
}

// Of one of its files. A header that cannot be read is told where the model is opened.
bool ModelStore::tells_checksum(const std::filesystem::path& path) const {
  try {
    return std::ranges::any_of(folders_->files(path), [](const std::filesystem::path& part) {
      try {
        return formats::told_checksum(formats::ModelFile::open(part)).has_value();
      } catch (const Error&) {
        return false;  // an index
      }
    });
  } catch (const Error&) {
    return false;
  }
}

// Another file lies under a name that is bound: it serves if it is a model, and once its tensors were compared where it tells a checksum of them.
ModelStore::Meaning ModelStore::take_new_file(const Key& key, const std::shared_ptr<const PinnedFile>& file, const Bound& bound) {
  OpenModelPtr opened;
  std::string fault;
  bool is_no_model = false;
  try {
    opened = open_file(key, file, version_of(key, *file), false);
  } catch (const Error& error) {
    // Other faults may be over the next time: too many open files, a disk that does not answer.
    is_no_model = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported;
    if (bound.lost && !is_no_model) throw;
    // Once it is written, it is looked at again.
    if (!error.find("busy").empty()) return serving(key, bound);
    fault = error.what();
  }
  const bool unchecked = opened && tells_checksum(file->path());
  if (unchecked) fault = "the checksum that its header tells of its tensors is still to be compared";
  Bound before;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find(key);
  if (at == shared_->bound.end() || at->second.model != bound.model) {  // a reload came first
    if (opened) return {opened->file, opened->version, opened};
    return serving(key, bound);
  }
  if (opened && !unchecked) {
    before = std::exchange(at->second, Bound{opened, "", opened->file->identities(), std::nullopt, ""});
    return {opened->file, opened->version, opened};
  }
  at->second.refused = is_no_model ? std::optional(file->identities()) : std::nullopt;
  at->second.unchecked = unchecked ? std::optional(file->identities()) : std::nullopt;
  at->second.fault = at->second.lost ? spoilt(fault) : fault;
  return serving(key, at->second);
}

template <typename Network>
void ModelStore::supersede(Parts<Network>& parts, const FileId& id, const std::shared_ptr<const Network>& network,
                           const std::shared_ptr<const variant::BaseModel>& base) {
  Part<Network>& part = parts[id];
  const auto before = part.base.lock();
  if (before && before != base) shared_->superseded.insert(before->identity());
  part.network = network;
  part.base = base;
  part.turn = ++shared_->opened;
}

void ModelStore::bind(const OpenModelPtr& model, std::string sha256) {
  const FileId id = id_of(*model->file);
  Bound before;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  before = bind_locked(model, id, std::move(sha256));
}

bool ModelStore::bind_in_place_of(const OpenModelPtr& expected, const OpenModelPtr& model, std::string sha256) {
  const FileId id = id_of(*model->file);
  Bound before;  // let go after the lock
  const std::lock_guard lock(shared_->mutex);
  const auto at = shared_->bound.find({model->kind, model->name});
  if (at == shared_->bound.end() || at->second.model != expected) return false;
  before = bind_locked(model, id, std::move(sha256));
  return true;
}

ModelStore::Bound ModelStore::bind_locked(const OpenModelPtr& model, const FileId& id, std::string sha256) {
  if (model->model) supersede(shared_->unets, id, model->model->network, model->model->patcher.model());
  if (model->clip) supersede(shared_->clips, id, model->clip->network, model->clip->patcher.model());
  if (model->vae) supersede(shared_->vaes, id, model->vae->network, model->vae->patcher.model());
  return std::exchange(shared_->bound[{model->kind, model->name}], Bound{model, std::move(sha256), id.files, std::nullopt, ""});
}

void ModelStore::rebind(const OpenModelPtr& model, const FileIdentities& files, std::string sha256) {
  change_bound({model->kind, model->name}, model, [&](Bound& bound) {
    bound.files = files;
    bound.sha256 = std::move(sha256);
    bound.refused.reset();
    bound.unchecked.reset();
    bound.fault.clear();
  });
}

void ModelStore::set_hash(const OpenModelPtr& model, std::string sha256) {
  change_bound({model->kind, model->name}, model, [&](Bound& bound) { bound.sha256 = std::move(sha256); });
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
  // What the name stood for before.
  const FileId* newest = nullptr;
  uint64_t turn = 0;
  const auto look = [&](const auto& parts) {
    for (const auto& [at, part] : parts) {
      if (at.path != now.path || at.files == now.files || part.turn <= turn || are_written_over(at.files, now.files) || !find(parts, at)) continue;
      newest = &at;
      turn = part.turn;
    }
  };
  look(shared_->unets);
  look(shared_->clips);
  look(shared_->vaes);
  if (newest == nullptr) return nullptr;
  const FileId id = *newest;
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

void ModelStore::keep_serving(const std::string& kind, const std::string& name, const FileIdentities& refused, const std::string& fault) {
  const Key key = key_of(kind, name);
  const std::optional<std::filesystem::path> path = folders_->find(key.kind, key.name);
  if (!path) return;
  std::shared_ptr<OpenModel> earlier;
  {
    const std::lock_guard lock(shared_->mutex);
    const auto bound = shared_->bound.find(key);
    if (bound == shared_->bound.end()) {
      earlier = earlier_model(key, {path->string(), refused});
    } else if (bound->second.files != refused) {
      // Else the next prompt would let the file take the name by itself.
      bound->second.refused = refused;
      bound->second.unchecked.reset();
      bound->second.fault = bound->second.lost ? spoilt(fault) : fault;
    }
  }
  if (!earlier) return;
  earlier->version = version_of(key, *earlier->file);
  const std::lock_guard lock(shared_->mutex);
  shared_->bound.try_emplace(key, Bound{earlier, "", earlier->file->identities(), refused, fault});
}

std::optional<ModelStore::Binding> ModelStore::binding(const std::string& kind, const std::string& name) const {
  const std::optional<Bound> bound = find_bound(key_of(kind, name));
  if (!bound) return std::nullopt;
  return Binding{bound->model, bound->sha256, bound->fault, bound->lost, bound->unchecked.has_value()};
}

std::vector<ModelStore::Binding> ModelStore::bindings() const {
  const std::lock_guard lock(shared_->mutex);
  std::vector<Binding> out;
  for (const auto& [key, bound] : shared_->bound) {
    out.push_back({bound.model, bound.sha256, bound.fault, bound.lost, bound.unchecked.has_value()});
  }
  return out;
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
    if (at->second.lost) continue;
    const auto place = std::ranges::lower_bound(out, at->first.name);
    if (place == out.end() || *place != at->first.name) out.insert(place, at->first.name);
  }
  return out;
}

}  // namespace veneer::nodes
