// LoadSlot: what is loaded of one base between runs. Shared by all clones of a patcher.
//
// Loading keeps ready-to-run weights in the resident set by leases; nothing of the base changes. So unloading, and every failing path, only drops
// leases. All members may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "variant/description.h"
#include "variant/loaded_variant.h"

namespace veneer::variant {

struct LoadRequest {
  // Bytes of weights, as stored, that may be loaded; kAll: every module.
  static constexpr size_t kAll = static_cast<size_t>(-1);
  size_t budget = kAll;
  // Also keeps the patched weights of modules that stay offloaded, so that no patch is left to the forward.
  bool force_patch_weights = false;
};

// What can be seen of a slot.
struct LoadState {
  size_t loaded_size = 0;                          // bytes, as stored, of the modules that are loaded
  bool low_memory = false;                         // some modules are made on demand
  size_t on_demand_patches = 0;                    // patched keys that were left to the forward since the slot was last emptied
  Fingerprint loaded_uuid;                         // patches_uuid of the loaded variant; zero when nothing is
  std::vector<std::string> backup;                 // patched keys that are loaded; the base holds their originals. Sorted
  std::map<std::string, size_t> weight_functions;  // patched keys whose records (counted) run inside the forward
  std::vector<std::string> object_patches_backup;  // slots that the loaded variant overlays
};

class LoadSlot {
 public:
  explicit LoadSlot(std::shared_ptr<const BaseModel> model) : model_(std::move(model)) {}

  LoadState state() const;
  // The state and the loaded variant (null when the slot is empty) of one moment.
  std::pair<LoadState, std::shared_ptr<LoadedVariant>> snapshot() const;
  // The loaded variant when it has this fingerprint, else null.
  std::shared_ptr<LoadedVariant> loaded(const Fingerprint& fingerprint) const;
  std::shared_ptr<LoadedVariant> current() const { return snapshot().second; }

  void load(const Description& description, const Fingerprint& uuid, const LoadRequest& request);
  size_t partially_load(const Description& description, const Fingerprint& uuid, size_t extra_memory, bool force_patch_weights);
  size_t partially_unload(size_t memory_to_free);
  void unpatch(bool weights);
  // Overlays of the description become those of the slot.
  void enter_objects(const Description& description);
  // The object in a slot as the loaded variant has it: its overlay, else the base's.
  ModelObject model_object(const std::string& path) const;

 private:
  enum class KeyState : uint8_t { loaded, function };

  void load_locked(const Description& description, const Fingerprint& uuid, const LoadRequest& request);
  void load_modules(const LoadRequest& request);
  bool load_module(ModuleId module);
  void leave_on_demand(ModuleId module, bool keep_patches);
  void clear_locked();
  void enter_objects_locked(const Description& description);

  const std::shared_ptr<const BaseModel> model_;
  mutable std::mutex mutex_;
  std::shared_ptr<LoadedVariant> current_;
  Fingerprint uuid_;
  size_t loaded_size_ = 0;
  bool low_memory_ = false;
  size_t on_demand_patches_ = 0;
  std::map<std::string, KeyState> keys_;  // patched keys of the loaded variant
  std::map<std::string, ModelObject> objects_;
};

}  // namespace veneer::variant
