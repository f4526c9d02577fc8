// Where weights are: the account of memory, and the plan for a variant that is to be loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace veneer {

// One entry of the account of memory.
struct MemoryEntry {
  std::string owner;  // the model file, or "adapter"
  std::string name;   // module
  std::string tier;   // "resident": ready to run
  uint64_t bytes = 0;
  bool in_use = false;    // a running job holds it
  uint64_t last_use = 0;  // a counter of uses, not a time
};

struct MemoryAccount {
  std::vector<MemoryEntry> entries;  // most recently used first
  uint64_t resident_bytes = 0;
  uint64_t peak_resident_bytes = 0;
  uint64_t budget_bytes = 0;
  uint64_t pinned_bytes = 0;
  uint64_t pinned_budget_bytes = 0;
  std::string notice;  // empty, or why host pinned memory was refused
};

// A module of a network and where its weights are to be. Bytes are those of its ready-to-run form, as far as they can be told before it is made.
struct PlannedModule {
  std::string name;
  uint64_t bytes = 0;
  std::string place;                // "resident", "on demand" (made inside of each forward) or "file" (read where it lies in the mapped file)
  bool pinned = false;              // its part of the file is locked in memory while it is on demand
  bool patched = false;             // its own weights differ from the base's
  bool patches_in_forward = false;  // they are patched inside of each forward
  size_t branches = 0;              // low-rank side branches that run beside it
  bool loaded = false;              // where the plan was carried out: it is ready to run now
};

// The plan for one network under the whole of the budgets: networks run one after the other, and what no running one holds makes room.
struct PartPlan {
  std::string part;          // "text_encoder", "vae" or "unet"
  std::string architecture;  // "clip_l", "vae", "sd1.unet"
  uint64_t stored_bytes = 0;
  uint64_t resident_bytes = 0, on_demand_bytes = 0, pinned_bytes = 0;
  size_t patches_in_forward = 0;  // modules
  // What the network has, as stored in files, and of it in memory while it is loaded: in ready-to-run form, apart for modules without and with
  // patches (side branches count to the latter).
  uint64_t weight_bytes = 0, patch_bytes = 0, loaded_weight_bytes = 0, loaded_patch_bytes = 0;
  std::vector<PlannedModule> modules;  // in load order: large ones first
};

struct LoadReport {
  std::string model;
  std::string file;
  std::vector<PartPlan> parts;  // in the order in which they were loaded
  // After each network was loaded and let go, but for the UNet, which is held: what memory is like while a job samples.
  MemoryAccount account;
};

}  // namespace veneer
