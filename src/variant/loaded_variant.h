// LoadedVariant: the modules of one variant in the form that they run in, and where each of them is right now.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "residency/pinned_memory.h"
#include "residency/prefetcher.h"
#include "residency/resident_set.h"
#include "variant/description.h"
#include "variant/realisation.h"

namespace veneer::variant {

// What a dynamic variant has in memory, in bytes.
struct DynamicAccount {
  size_t weights_loaded = 0;  // ready-to-run modules without patches
  size_t patches_loaded = 0;  // ready-to-run modules with patches, and side branches
  size_t weights = 0;         // all weights of the base, as stored
  size_t patches = 0;         // all patch values, as stored
};

// Shared by the views of one variant. All members may be called from any thread.
class LoadedVariant {
 public:
  enum class Placement : uint8_t {
    undecided,  // decided at first use by what the memory budget has left
    resident,   // kept until unloaded
    on_demand,  // made for each use
  };

  explicit LoadedVariant(Description description);
  ~LoadedVariant();
  LoadedVariant(const LoadedVariant&) = delete;
  LoadedVariant& operator=(const LoadedVariant&) = delete;

  const Description& description() const { return description_; }
  const Fingerprint& fingerprint() const { return fingerprint_; }

  // A ready-to-run part of a module. It stays valid for the life of this object, also when it is unloaded meanwhile.
  struct Part {
    std::shared_ptr<const residency::Resident> object;
    residency::Lease lease;  // of parts that are made on demand: dropped with the use
  };
  struct Branch {
    Part part;
    float scale = 1;
  };
  struct Use {
    Part main;
    std::vector<Branch> branches;
  };
  // Makes what is missing. Throws what calculate_weight and the resident set do, with nothing changed.
  Use use(ModuleId module);
  // The same part by part, so that what is made for a moment can be let go before the next: first each branch, then the module itself.
  size_t num_branches(ModuleId module);
  Branch use_branch(ModuleId module, size_t branch);
  Part use_main(ModuleId module);

  Placement placement(ModuleId module) const;
  // Makes a module ready and keeps it, unless the memory budget is used up: then it is on demand, and false comes back.
  bool load(ModuleId module);
  // From now on made for each use.
  void leave_on_demand(ModuleId module);
  // Of the patched keys among the module's weight and bias: those that are loaded as patched weights.
  bool is_loaded(ModuleId module) const { return placement(module) == Placement::resident; }
  // Keeps the module's patched weights although it is on demand. False when it has no patches or does not fit.
  bool keep_patches(ModuleId module);

  // The weight keys of a module that have patches.
  std::vector<std::string> patched_keys(ModuleId module) const;
  // Bytes of the module's weights as stored.
  size_t stored_bytes(ModuleId module) const;

  DynamicAccount account() const;

 private:
  struct Slot {
    Placement placement = Placement::undecided;
    std::optional<Realisation> how;  // made at first use
    std::shared_ptr<const residency::Resident> object;
    residency::Lease lease;
    struct BranchSlot {
      std::shared_ptr<const residency::Resident> object;
      residency::Lease lease;
    };
    std::vector<BranchSlot> branches;
  };

  const Realisation& realisation_locked(ModuleId module);
  residency::Keep keep_for(const Slot& slot, size_t bytes) const;
  Part take(residency::Lease lease, ModuleId module, const size_t* branch);
  std::vector<std::string> sources_of(const ModuleDef& def, const Realisation& how) const;
  residency::Lease acquire(ModuleId module, const Realisation& how, residency::Keep keep);
  residency::Lease acquire_branch(ModuleId module, const BranchRealisation& branch, residency::Keep keep);
  void plan();
  void pin(ModuleId module);
  void prefetch_after(ModuleId module);
  // Reads the base's weights of a module from their file where they are not in memory.
  void read_stored(ModuleId module) const;

  const Description description_;
  const Fingerprint fingerprint_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<residency::PinnedMemory::Pin> pins_;
  size_t reserve_ = 0;                                 // dynamic residency: room for the largest module
  std::unique_ptr<residency::Prefetcher> prefetcher_;  // dynamic residency only; joined first when destroyed
};

}  // namespace veneer::variant
