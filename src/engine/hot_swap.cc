#include "engine/hot_swap.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "nodes/stale_values.h"
#include "registry/library.h"
#include "registry/nearest_names.h"
#include "residency/resident_set.h"
#include "variant/runtime.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The kind by its present name.
std::string kind_of(const registry::ModelFolders& folders, const std::string& type) {
  const std::vector<std::string>& known = HotSwap::types();
  std::string kind;
  try {
    kind = folders.kind(type).name;
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): said below
  }
  if (std::ranges::find(known, kind) != known.end()) return kind;
  throw Error(ErrorCode::invalid, "there is no such type of model", {{"field", "type"}, {"value", type}, {"allowed", joined(known)}});
}

registry::Library::Found find_model(registry::Library& library, const std::string& kind, const std::string& name) {
  try {
    // The folders' look-up passes over empty parts of a name, and so over the last.
    if (name.ends_with('/') || name.ends_with('\\')) throw Error(ErrorCode::invalid, "the name ends as a folder's does");
    return library.find(kind, name);
  } catch (const Error& error) {
    const std::vector<std::string> names = library.folders().list(kind);
    throw Error(error.code(), "there is no such model",
                {{"field", "model_name"},
                 {"value", name},
                 {"reason", error.text()},
                 {"nearest", joined(registry::nearest_names(name, names))},
                 {"allowed", joined(names)}});
  }
}

// Adapters and embeddings have no network that would refuse them: what they are says their header.
void require_type(registry::Library& library, const nodes::OpenModel& model) {
  if (!model.tensors) return;
  const std::string type = library.facts(model.file->path())->type;
  const std::string want = model.kind == "loras" ? "lora" : "embedding";
  if (type.empty() || type == want) return;
  throw Error(ErrorCode::unsupported, "the file is another type of model",
              {{"field", "type"}, {"value", model.kind}, {"file", model.file->path().string()}, {"type", type}});
}

// Beside what runs: it takes what the budget has left, and what nobody holds. Returns the bytes, as stored, of what is ready.
uint64_t make_ready(const nodes::OpenModel& model) {
  uint64_t bytes = 0;
  for (const variant::ModelPatcher* part : model.patchers()) {
    variant::ModelPatcher own = part->clone();
    own.load();
    bytes += own.load_slot().state().loaded_size;
    own.detach();
  }
  return bytes;
}

}  // namespace

const std::vector<std::string>& HotSwap::types() { return nodes::ModelStore::kinds(); }

std::shared_ptr<std::mutex> HotSwap::mutex_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(names_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<std::mutex> known = names_[name].lock();
  if (!known) names_[name] = known = std::make_shared<std::mutex>();
  return known;
}

SwapOutcome HotSwap::load(const SwapRequest& request, const std::function<bool()>& stop) {
  const std::string kind = kind_of(core_.models().folders(), request.type);
  const std::string name = find_model(core_.environment().get<registry::Library>(), kind, request.name).name;
  const std::shared_ptr<std::mutex> own = mutex_of(kind + "/" + name);
  const std::lock_guard one_at_a_time(*own);
  return load_now({.type = kind, .name = name, .force = request.force, .expected_sha256 = request.expected_sha256}, stop);
}

SwapOutcome HotSwap::load_now(const SwapRequest& request, const std::function<bool()>& stop, const nodes::OpenModelPtr& in_place_of) {
  nodes::ModelStore& models = core_.models();
  registry::Library& library = core_.environment().get<registry::Library>();
  const auto looked_at = models.files_of(request.type, request.name);
  try {
    const auto before = models.binding(request.type, request.name);
    // Headers first: most of what is no model is told at once.
    const nodes::OpenModelPtr opened = models.open(request.type, request.name, request.force);
    require_type(library, *opened);
    const auto keep_on = [&](uint64_t, uint64_t) {
      if (stop && stop()) throw Error(ErrorCode::cancelled, "the load was given up");
    };
    const registry::Library::Verified verified = library.verify(opened->file->path(), keep_on, request.force);
    if (verified.is_other_than_told) {
      throw Error(ErrorCode::corrupt, verified.problem, {{"file", opened->file->path().string()}, {"field", "model_name"}});
    }
    SwapOutcome out;
    out.type = request.type;
    out.name = request.name;
    out.family = opened->family;
    out.sha256 = verified.sha256;
    out.earlier_sha256 = before ? before->sha256 : "";
    out.size_bytes = opened->file->size_bytes();
    if (!request.expected_sha256.empty() && request.expected_sha256 != out.sha256) {
      throw Error(ErrorCode::invalid, "the file has another content than was expected",
                  {{"field", "sha256"}, {"value", request.expected_sha256}, {"allowed", out.sha256}});
    }
    if (!opened->file->is_current() || opened->file->written_to() || opened->file->being_written()) {
      throw Error(ErrorCode::invalid, "the file was replaced while it was loaded", {{"file", opened->file->path().string()}, {"busy", "true"}});
    }
    if (before && !before->lost && !request.force && before->sha256 == out.sha256 && !before->model->file->written_to()) {
      models.rebind(before->model, opened->file->identities(), out.sha256);
      // A job may have let the file take its name meanwhile: that is another model object, and not hashed.
      const auto now = models.binding(request.type, request.name);
      if (now && now->model == before->model) return out;
    }
    out.ready_bytes = make_ready(*opened);
    if (in_place_of == nullptr) {
      models.bind(opened, out.sha256);
      out.changed = true;
    } else {
      out.changed = models.bind_in_place_of(in_place_of, opened, out.sha256);
    }
    return out;
  } catch (const Error& error) {
    // A file that is still written is looked at again.
    const bool refused = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::unsupported;
    const auto now = models.binding(request.type, request.name);
    const bool taken_away = in_place_of != nullptr && (!now || now->model != in_place_of);
    if (refused && looked_at && !taken_away) models.keep_serving(request.type, request.name, *looked_at, error.what());
    throw;
  }
}

bool HotSwap::unload(const std::string& type, const std::string& name) {
  nodes::ModelStore& models = core_.models();
  const std::string kind = kind_of(models.folders(), type);
  if (name.ends_with('/') || name.ends_with('\\')) return false;
  return models.unbind(kind, name);
}

std::vector<LoadedModel> HotSwap::loaded() const {
  core_.models().look_at_bindings();
  std::vector<LoadedModel> out;
  for (const nodes::ModelStore::Binding& binding : core_.models().bindings()) {
    const nodes::OpenModel& model = *binding.model;
    out.push_back({.type = model.kind,
                   .name = model.name,
                   .family = model.family,
                   .sha256 = binding.lost ? "" : binding.sha256,
                   .version = model.version,
                   .size_bytes = model.file->size_bytes(),
                   .serves = !binding.lost,
                   .fault = binding.fault});
  }
  return out;
}

void HotSwap::complete(const std::function<bool()>& stop) {
  for (const nodes::ModelStore::Binding& binding : core_.models().bindings()) {
    try {
      if (binding.awaits_check || (binding.sha256.empty() && !binding.lost)) complete(binding, stop);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled) throw;
      // That one stays as it is; the others do not wait for it.
    }
  }
}

void HotSwap::complete(const nodes::ModelStore::Binding& binding, const std::function<bool()>& stop) {
  const nodes::OpenModelPtr& model = binding.model;
  const std::shared_ptr<std::mutex> own = mutex_of(model->kind + "/" + model->name);
  const std::unique_lock one_at_a_time(*own, std::try_to_lock);
  if (!one_at_a_time.owns_lock()) return;  // a load, which does all of it by itself
  if (binding.awaits_check) {
    const auto now = core_.models().binding(model->kind, model->name);
    if (now && now->model == model && now->awaits_check) load_now({.type = model->kind, .name = model->name}, stop, model);
    return;
  }
  // What else lies there by now is not the content that serves, and another model may have the name.
  const auto serves = [&] {
    const auto now = core_.models().binding(model->kind, model->name);
    return now && now->model == model && now->sha256.empty() && model->file->is_current() && !model->file->written_to();
  };
  if (!serves()) return;
  const std::string hash = core_.environment().get<registry::Library>().hash(model->file->path(), [&](uint64_t, uint64_t) {
    if (stop && stop()) throw Error(ErrorCode::cancelled, "the hash was given up");
  });
  if (!serves()) return;
  core_.models().set_hash(model, hash);
  make_ready(*model);
}

std::function<bool(const graph::Value&)> HotSwap::stale_values() const {
  auto stale = std::make_shared<const nodes::ModelStore::Stale>(core_.models().take_stale());
  if (stale->empty()) return {};
  // What was made with their content goes as soon as nothing uses it.
  if (!stale->adapters.empty()) core_.runtime().residents->disown(stale->adapters);
  return [stale](const graph::Value& value) { return nodes::is_stale(value, *stale); };
}

}  // namespace veneer::engine
