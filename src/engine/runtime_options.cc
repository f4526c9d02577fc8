#include "engine/runtime_options.h"

#include "base/physical_memory.h"
#include "patch/patch_compat.h"

namespace veneer::engine {
namespace {

// Weights leave room for activations, the file's pages and other processes.
size_t default_budget() { return physical_memory_bytes() / 5 * 3; }

}  // namespace

std::shared_ptr<const variant::Runtime> make_runtime(const EngineOptions& options, compute::WeightStorage storage) {
  variant::Runtime runtime;
  const size_t budget = options.no_resident_weights ? 0 : options.memory_budget == 0 ? default_budget() : options.memory_budget;
  runtime.residents = std::make_shared<residency::ResidentSet>(budget);
  if (options.pinned_budget > 0) runtime.pinned = std::make_shared<residency::PinnedMemory>(options.pinned_budget);
  runtime.apply_mode = variant::lora_apply_mode_from_string(options.lora_apply_mode);
  runtime.residency = variant::residency_mode_from_string(options.residency);
  runtime.compat = patch::patch_compat_from_string(options.patch_compat);
  runtime.weight_storage = storage;
  return std::make_shared<const variant::Runtime>(std::move(runtime));
}

MemoryAccount account_of(const variant::Runtime& runtime) {
  MemoryAccount out;
  for (const auto& entry : runtime.residents->account()) {
    out.entries.push_back({entry.owner, entry.label, "resident", entry.size_bytes, entry.leases > 0, entry.last_use});
    out.resident_bytes += entry.size_bytes;
  }
  out.peak_resident_bytes = runtime.residents->peak_bytes();
  out.budget_bytes = runtime.residents->budget_bytes();
  if (runtime.pinned) {
    out.pinned_bytes = runtime.pinned->size_bytes();
    out.pinned_budget_bytes = runtime.pinned->budget_bytes();
    out.notice = runtime.pinned->notice();
  }
  return out;
}

}  // namespace veneer::engine
