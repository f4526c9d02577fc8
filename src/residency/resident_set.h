// The resident set: ready-to-run weights by content, under one byte budget.
//
// Entries are addressed by fingerprint, so two variants that share a patched weight share its entry. A lease pins an entry; eviction (least recently
// used first) takes only what no lease holds. All members may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "residency/resident.h"

namespace veneer::residency {

class ResidentSet;

// Pins one entry. Move-only; the entry is unpinned when the lease is destroyed, assigned over or reset.
class [[nodiscard]] Lease {
 public:
  Lease() = default;
  ~Lease() { reset(); }
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  explicit operator bool() const { return object_ != nullptr; }
  const Resident* get() const { return object_.get(); }
  void reset() noexcept;

 private:
  friend class ResidentSet;
  struct State;
  std::shared_ptr<const Resident> object_;
  std::shared_ptr<void> set_;  // the set's state, which may outlive the set
  Fingerprint key_;
};

class ResidentSet {
 public:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  explicit ResidentSet(size_t budget_bytes = kUnlimited);
  ~ResidentSet();
  ResidentSet(const ResidentSet&) = delete;
  ResidentSet& operator=(const ResidentSet&) = delete;

  // The entry for `key`, built with `build` if it is absent. Concurrent calls for one key build once: the others wait. `build` runs without the set's
  // lock; what it throws is rethrown here and leaves no entry. `owner`: the entry is dropped once it expires. `label`: for the account.
  Lease acquire(const Fingerprint& key, const std::weak_ptr<const void>& owner, const std::string& label,
                const std::function<std::shared_ptr<const Resident>()>& build);

  // Whether an entry exists, without counting as a use.
  bool contains(const Fingerprint& key) const;

  // Drops unleased entries: those of expired owners first, then the least recently used, until at most `target_bytes` are held. Returns bytes freed.
  size_t trim(size_t target_bytes);

  struct Account {
    std::string label;
    Fingerprint key;
    size_t size_bytes = 0;
    size_t leases = 0;
    uint64_t last_use = 0;  // a counter of uses, not a time
  };
  // Every entry, most recently used first.
  std::vector<Account> account() const;
  size_t size_bytes() const;
  // The largest size_bytes() seen after any acquire.
  size_t peak_bytes() const;
  size_t budget_bytes() const;
  size_t num_leases() const;

 private:
  std::shared_ptr<Lease::State> state_;
};

}  // namespace veneer::residency
