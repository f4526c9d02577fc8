#include "variant/loaded_variant.h"

#include <algorithm>

#include "residency/load_plan.h"
#include "residency/page_in.h"
#include "variant/resident_modules.h"

namespace veneer::variant {

using residency::Keep;
using residency::Lease;
using residency::ResidentSet;

LoadedVariant::LoadedVariant(Description description)
    : description_(std::move(description)), fingerprint_(description_.fingerprint()), slots_(description_.model->modules().size()) {
  const bool unlimited = description_.runtime->residents->budget_bytes() == ResidentSet::kUnlimited;
  if (description_.runtime->residency == ResidencyMode::dynamic) {
    for (ModuleId module = 0; module < slots_.size(); ++module) {
      const Realisation& how = realisation_locked(module);
      if (!unlimited) reserve_ = std::max(reserve_, how.bytes);
    }
    prefetcher_ = std::make_unique<residency::Prefetcher>();
  } else if (!unlimited) {
    plan();
  }
}

LoadedVariant::~LoadedVariant() = default;

void LoadedVariant::plan() {
  std::vector<residency::ModuleSize> sizes(slots_.size());
  for (ModuleId module = 0; module < slots_.size(); ++module) {
    const Realisation& how = realisation_locked(module);
    // What is made for each use takes nothing that could be kept.
    sizes[module] = {description_.model->modules()[module].name, how.keep ? how.bytes : 0, how.patched};
    for (const BranchRealisation& branch : how.branches) sizes[module].bytes += branch.bytes;
  }
  const size_t pinned = description_.runtime->pinned ? description_.runtime->pinned->budget_bytes() : 0;
  const residency::LoadPlan plan = residency::plan_load(sizes, description_.runtime->residents->available_bytes(), pinned);
  for (const residency::PlannedModule& planned : plan.modules) {
    if (planned.place == residency::ModulePlace::resident) continue;
    slots_[planned.index].placement = Placement::on_demand;
    if (planned.pinned) pin(static_cast<ModuleId>(planned.index));
  }
}

void LoadedVariant::pin(ModuleId module) {
  const auto& pinned = description_.runtime->pinned;
  if (!pinned || pinned->budget_bytes() == 0) return;
  const Tensor& weight = description_.model->weight(description_.model->modules()[module].name + ".weight");
  if (auto held = pinned->pin({static_cast<const std::byte*>(weight.bytes()), weight.size_bytes()})) pins_.push_back(std::move(held));
}

const Realisation& LoadedVariant::realisation_locked(ModuleId module) {
  Slot& slot = slots_.at(module);
  if (!slot.how) {
    slot.how = realise(description_, module);
    slot.branches.resize(slot.how->branches.size());
  }
  return *slot.how;
}

// The files of the adapters that are in a module's resident.
std::vector<std::string> LoadedVariant::sources_of(const ModuleDef& def, const Realisation& how) const {
  std::vector<std::string> out;
  if (!how.patched || how.weight == Realisation::Weight::base) return out;
  for (const char* part : {".weight", ".bias"}) {
    const std::string key = def.name + part;
    for (const std::span<const patch::PatchRecord> records : {description_.records(key), description_.hook_records(key)}) {
      for (const patch::PatchRecord& record : records) {
        const patch::PatchOrigin* origin = record.value->origin();
        if (origin != nullptr && std::ranges::find(out, origin->file) == out.end()) out.push_back(origin->file);
      }
    }
  }
  return out;
}

Lease LoadedVariant::acquire(ModuleId module, const Realisation& how, Keep keep) {
  const ModuleDef& def = description_.model->modules()[module];
  return description_.runtime->residents->acquire({.key = how.key,
                                                   .owner = description_.model,
                                                   .owner_name = description_.model->source_name(),
                                                   .label = def.name,
                                                   .sources = sources_of(def, how),
                                                   .expected_bytes = how.bytes,
                                                   .keep = keep},
                                                  [&] { return build_module(description_, module, how); });
}

Lease LoadedVariant::acquire_branch(ModuleId module, const BranchRealisation& branch, Keep keep) {
  const ModuleDef& def = description_.model->modules()[module];
  return description_.runtime->residents->acquire(
      {.key = branch.key, .owner = branch.value, .owner_name = "adapter", .label = def.name, .expected_bytes = branch.bytes, .keep = keep},
      [&] { return build_branch(description_, module, branch); });
}

// Dynamic residency leaves room for the module that is being fetched.
Keep LoadedVariant::keep_for(const Slot& slot, size_t bytes) const {
  if (!slot.how->keep) return Keep::discard;
  if (slot.placement == Placement::on_demand) return Keep::cache;
  if (prefetcher_) {
    const size_t available = description_.runtime->residents->available_bytes();
    if (available < bytes || available - bytes < reserve_) return Keep::cache;
  }
  return Keep::hold;
}

LoadedVariant::Use LoadedVariant::use(ModuleId module) {
  Use out;
  out.branches.reserve(num_branches(module));
  for (size_t i = 0; i < num_branches(module); ++i) out.branches.push_back(use_branch(module, i));
  out.main = use_main(module);
  return out;
}

size_t LoadedVariant::num_branches(ModuleId module) {
  const std::lock_guard lock(mutex_);
  return realisation_locked(module).branches.size();
}

LoadedVariant::Branch LoadedVariant::use_branch(ModuleId module, size_t branch) {
  std::unique_lock lock(mutex_);
  const BranchRealisation& how = realisation_locked(module).branches.at(branch);  // stays where it is from now on
  Branch out{{slots_[module].branches[branch].object, {}}, how.scale};
  lock.unlock();
  if (!out.part.object) out.part = take(acquire_branch(module, how, Keep::hold), module, &branch);
  return out;
}

LoadedVariant::Part LoadedVariant::use_main(ModuleId module) {
  std::unique_lock lock(mutex_);
  const Realisation& how = realisation_locked(module);
  Part out{slots_[module].object, {}};
  const Keep keep = keep_for(slots_[module], how.bytes);
  lock.unlock();
  if (!out.object) out = take(acquire(module, how, keep), module, nullptr);
  if (prefetcher_) prefetch_after(module);
  return out;
}

// Stores a lease that is to last, or gives it to the use.
LoadedVariant::Part LoadedVariant::take(Lease lease, ModuleId module, const size_t* branch) {
  Part part;
  part.object = lease.object();
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[module];
  if (!lease.held()) {
    if (branch == nullptr && slot.placement != Placement::on_demand) {
      slot.placement = Placement::on_demand;
      pin(module);
    }
    part.lease = std::move(lease);
    return part;
  }
  // Unloaded while it was being made: only this use has it.
  if (branch == nullptr && slot.placement == Placement::on_demand) {
    part.lease = std::move(lease);
    return part;
  }
  auto& object = branch != nullptr ? slot.branches[*branch].object : slot.object;
  auto& kept = branch != nullptr ? slot.branches[*branch].lease : slot.lease;
  if (!object) {
    object = part.object;
    kept = std::move(lease);
    if (branch == nullptr) slot.placement = Placement::resident;
  }
  return part;
}

void LoadedVariant::prefetch_after(ModuleId module) {
  // Modules are listed in order of execution; the first one follows the last.
  const auto count = static_cast<ModuleId>(slots_.size());
  for (ModuleId step = 1; step < count; ++step) {
    const ModuleId next = (module + step) % count;
    Realisation how;
    {
      const std::lock_guard lock(mutex_);
      const Slot& slot = slots_[next];
      if (slot.object) continue;
      const ModuleDef& def = description_.model->modules()[next];
      if (def.kind == ModuleKind::embedding && !slot.how->patched) continue;
      how = *slot.how;
    }
    const ResidentSet& residents = *description_.runtime->residents;
    if (residents.contains(how.key)) return;
    const size_t held = residents.size_bytes(), budget = residents.budget_bytes();
    const bool make = how.keep && held <= budget && budget - held >= how.bytes;
    prefetcher_->request([this, next, how, make] {
      // Layers are packed at their first use, by all threads; what takes long before that is reading the file.
      read_stored(next);
      if (make) acquire(next, how, Keep::cache).reset();
    });
    return;
  }
}

void LoadedVariant::read_stored(ModuleId module) const {
  const ModuleDef& def = description_.model->modules()[module];
  residency::page_in(description_.model->weight(def.name + ".weight").byte_span());
  if (def.has_bias) residency::page_in(description_.model->weight(def.name + ".bias").byte_span());
}

LoadedVariant::Placement LoadedVariant::placement(ModuleId module) const {
  const std::lock_guard lock(mutex_);
  return slots_.at(module).placement;
}

bool LoadedVariant::load(ModuleId module) {
  const ModuleDef& def = description_.model->modules().at(module);
  if (def.kind == ModuleKind::embedding && !description_.is_patched(def.name + ".weight")) {
    const std::lock_guard lock(mutex_);
    slots_[module].placement = Placement::resident;  // read where it lies in the file
    return true;
  }
  {
    const std::lock_guard lock(mutex_);
    if (slots_[module].placement == Placement::on_demand) slots_[module].placement = Placement::undecided;
  }
  use(module);
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[module];
  if (slot.object) slot.placement = Placement::resident;
  return slot.placement == Placement::resident;
}

void LoadedVariant::leave_on_demand(ModuleId module) {
  std::shared_ptr<const residency::Resident> object;
  Lease lease;  // let go of without the lock
  std::vector<Slot::BranchSlot> branches;
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_.at(module);
  if (slot.placement == Placement::on_demand) return;
  slot.placement = Placement::on_demand;
  object = std::move(slot.object);
  lease = std::move(slot.lease);
  branches.resize(slot.branches.size());
  branches.swap(slot.branches);
  pin(module);
}

bool LoadedVariant::keep_patches(ModuleId module) {
  std::unique_lock lock(mutex_);
  const Realisation& how = realisation_locked(module);
  Slot& slot = slots_[module];
  if (!how.patched) return false;
  if (slot.object) return true;
  lock.unlock();
  Lease lease = acquire(module, how, Keep::hold);
  if (!lease.held()) return false;
  lock.lock();
  slot.object = lease.object();
  slot.lease = std::move(lease);
  return true;
}

std::vector<std::string> LoadedVariant::patched_keys(ModuleId module) const {
  const ModuleDef& def = description_.model->modules().at(module);
  std::vector<std::string> keys;
  for (const char* part : {".weight", ".bias"}) {
    if (part == std::string_view(".bias") && !def.has_bias) continue;
    std::string key = def.name + part;
    if (description_.is_patched(key)) keys.push_back(std::move(key));
  }
  return keys;
}

size_t LoadedVariant::stored_bytes(ModuleId module) const {
  const ModuleDef& def = description_.model->modules().at(module);
  const size_t bias = def.has_bias ? description_.model->weight(def.name + ".bias").size_bytes() : 0;
  return description_.model->weight(def.name + ".weight").size_bytes() + bias;
}

DynamicAccount LoadedVariant::account() const {
  DynamicAccount out;
  out.weights = description_.model->size_bytes();
  for (const auto* map : {description_.patches.get(), description_.hook_patches.get()}) {
    for (const auto& [key, records] : *map) {
      for (const patch::PatchRecord& record : *records) out.patches += record.value->size_bytes();
    }
  }
  const std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.object) (slot.how->patched ? out.patches_loaded : out.weights_loaded) += slot.object->size_bytes();
    for (const auto& branch : slot.branches) out.patches_loaded += branch.object ? branch.object->size_bytes() : 0;
  }
  return out;
}

}  // namespace veneer::variant
