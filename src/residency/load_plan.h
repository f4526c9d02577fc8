// Load plans: which modules of a model are to be resident under a budget, and what becomes of the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace veneer::residency {

struct ModuleSize {
  std::string name;
  size_t bytes = 0;      // when ready to run
  bool patched = false;  // its weights differ from the base's
};

enum class ModulePlace : uint8_t {
  resident,   // kept ready to run
  on_demand,  // read, patched and packed inside of each forward
};

struct PlannedModule {
  size_t index = 0;  // into the list that was planned
  ModulePlace place = ModulePlace::resident;
  bool pinned = false;              // its source pages are locked while it is on demand
  bool patches_in_forward = false;  // it has patches that are applied inside of each forward
};

struct LoadPlan {
  std::vector<PlannedModule> modules;  // in load order: by (bytes, name) from large to small
  size_t resident_bytes = 0;
  size_t pinned_bytes = 0;
};

// Indices by (bytes, name) from large to small: the order in which modules are loaded, and the reverse of that in which they are let go.
std::vector<size_t> load_order(std::span<const ModuleSize> modules);

// Takes modules in load order while their sum stays within `budget` (a module that would pass it is left out, smaller ones after it may still fit),
// then pins the sources of those left out while their sum stays within `pinned_budget`.
LoadPlan plan_load(std::span<const ModuleSize> modules, size_t budget, size_t pinned_budget);

}  // namespace veneer::residency
