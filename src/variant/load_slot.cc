#include "variant/load_slot.h"

#include <algorithm>

#include "residency/load_plan.h"

namespace veneer::variant {
namespace {

std::vector<residency::ModuleSize> module_sizes(const LoadedVariant& variant) {
  const auto& modules = variant.description().model->modules();
  std::vector<residency::ModuleSize> sizes(modules.size());
  for (ModuleId module = 0; module < modules.size(); ++module) {
    sizes[module] = {modules[module].name, variant.stored_bytes(module), !variant.patched_keys(module).empty()};
  }
  return sizes;
}

}  // namespace

std::shared_ptr<LoadedVariant> LoadSlot::loaded(const Fingerprint& fingerprint) const {
  const std::lock_guard lock(mutex_);
  return current_ && current_->fingerprint() == fingerprint ? current_ : nullptr;
}

LoadState LoadSlot::state() const { return snapshot().first; }

std::pair<LoadState, std::shared_ptr<LoadedVariant>> LoadSlot::snapshot() const {
  const std::lock_guard lock(mutex_);
  LoadState out;
  out.loaded_size = loaded_size_;
  out.low_memory = low_memory_;
  out.on_demand_patches = on_demand_patches_;
  out.loaded_uuid = uuid_;
  for (const auto& [path, object] : objects_) out.object_patches_backup.push_back(path);
  if (!current_) return {out, nullptr};
  for (const auto& [key, how] : keys_) {
    if (how == KeyState::loaded) {
      out.backup.push_back(key);
    } else {
      const Description& description = current_->description();
      out.weight_functions[key] = description.records(key).size() + description.hook_records(key).size();
    }
  }
  return {out, current_};
}

void LoadSlot::load(const Description& description, const Fingerprint& uuid, const LoadRequest& request) {
  const std::lock_guard lock(mutex_);
  load_locked(description, uuid, request);
}

void LoadSlot::load_locked(const Description& description, const Fingerprint& uuid, const LoadRequest& request) {
  const bool reference = description.runtime->compat == patch::PatchCompat::reference;
  // The reference implementation leaves weights that are patched already as they are, even if patches were added since.
  if (!current_ || (!reference && current_->fingerprint() != description.fingerprint())) {
    clear_locked();
    current_ = std::make_shared<LoadedVariant>(description);
  }
  try {
    load_modules(request);
  } catch (...) {
    // Nothing was changed, so there is nothing to undo; leases of what was loaded so far are let go. (The reference keeps those keys patched.)
    if (!reference) clear_locked();
    throw;
  }
  uuid_ = uuid;
}

void LoadSlot::load_modules(const LoadRequest& request) {
  const std::vector<residency::ModuleSize> sizes = module_sizes(*current_);
  const bool all = request.budget == LoadRequest::kAll;
  // A module that would bring the sum to the budget is left out.
  const residency::LoadPlan plan = residency::plan_load(sizes, all || request.budget == 0 ? request.budget : request.budget - 1, 0);
  size_t loaded = 0;
  bool complete = true;
  // Those that stay offloaded come first: it is the budget for the others that counts.
  for (const residency::PlannedModule& planned : plan.modules) {
    if (planned.place == residency::ModulePlace::resident) continue;
    complete = false;
    leave_on_demand(static_cast<ModuleId>(planned.index), request.force_patch_weights);
  }
  for (const residency::PlannedModule& planned : plan.modules) {
    if (planned.place != residency::ModulePlace::resident) continue;
    const auto module = static_cast<ModuleId>(planned.index);
    if (load_module(module)) {
      loaded += sizes[module].bytes;
    } else {
      complete = false;
    }
  }
  loaded_size_ = complete ? model_->size_bytes() : loaded;
  low_memory_ = !complete;
}

bool LoadSlot::load_module(ModuleId module) {
  const std::vector<std::string> keys = current_->patched_keys(module);
  const bool was_loaded = current_->is_loaded(module);
  // The original is kept from the moment that its patches are begun with.
  for (const std::string& key : keys) keys_.insert_or_assign(key, KeyState::loaded);
  if (was_loaded || current_->load(module)) return true;
  for (const std::string& key : keys) keys_.erase(key);
  leave_on_demand(module, false);
  return false;
}

void LoadSlot::leave_on_demand(ModuleId module, bool keep_patches) {
  current_->leave_on_demand(module);
  const bool kept = keep_patches && current_->keep_patches(module);
  for (const std::string& key : current_->patched_keys(module)) {
    const auto [it, is_new] = keys_.try_emplace(key, KeyState::function);
    if (kept) {
      it->second = KeyState::loaded;
    } else if (is_new || it->second == KeyState::loaded) {
      it->second = KeyState::function;
      ++on_demand_patches_;
    }
  }
}

size_t LoadSlot::partially_load(const Description& description, const Fingerprint& uuid, size_t extra_memory, bool force_patch_weights) {
  const std::lock_guard lock(mutex_);
  size_t budget = loaded_size_ > LoadRequest::kAll - extra_memory ? LoadRequest::kAll : loaded_size_ + extra_memory;
  const bool other = uuid_ != Fingerprint{} && (uuid_ != uuid || force_patch_weights);
  if (other) clear_locked();
  enter_objects_locked(description);
  if (!low_memory_ && loaded_size_ > 0) return 0;
  if (budget > model_->size_bytes()) budget = LoadRequest::kAll;
  const size_t before = loaded_size_;
  try {
    load_locked(description, uuid, {budget, force_patch_weights});
  } catch (...) {
    clear_locked();
    objects_.clear();
    throw;
  }
  return loaded_size_ - std::min(before, loaded_size_);
}

size_t LoadSlot::partially_unload(size_t memory_to_free) {
  const std::lock_guard lock(mutex_);
  if (!current_) return 0;
  const std::vector<residency::ModuleSize> sizes = module_sizes(*current_);
  const std::vector<size_t> order = residency::load_order(sizes);
  size_t freed = 0;
  for (auto it = order.rbegin(); it != order.rend() && freed <= memory_to_free; ++it) {
    const auto module = static_cast<ModuleId>(*it);
    if (!current_->is_loaded(module)) continue;
    leave_on_demand(module, false);
    freed += sizes[module].bytes;
  }
  low_memory_ = low_memory_ || freed > 0;
  loaded_size_ -= std::min(freed, loaded_size_);
  return freed;
}

void LoadSlot::unpatch(bool weights) {
  const std::lock_guard lock(mutex_);
  objects_.clear();
  if (weights) clear_locked();
}

void LoadSlot::clear_locked() {
  current_.reset();
  keys_.clear();
  uuid_ = {};
  loaded_size_ = 0;
  low_memory_ = false;
  on_demand_patches_ = 0;
}

void LoadSlot::enter_objects(const Description& description) {
  const std::lock_guard lock(mutex_);
  enter_objects_locked(description);
}

void LoadSlot::enter_objects_locked(const Description& description) { objects_ = description.extras->object_patches; }

ModelObject LoadSlot::model_object(const std::string& path) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = objects_.find(path); it != objects_.end()) return it->second;
  }
  const auto it = model_->objects().find(path);
  if (it == model_->objects().end()) throw Error(ErrorCode::not_found, "model: no such object", {{"file", model_->source_name()}, {"path", path}});
  return it->second;
}

}  // namespace veneer::variant
