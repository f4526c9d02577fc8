// The resident set: ready-to-run weights by content, under one byte budget.
//
// Entries are addressed by fingerprint, so two variants that share a patched weight share its entry. A lease keeps its entry; eviction (least
// recently used first) takes only what no lease holds. Room is made before something is built. Leases that are to last (Keep::hold) are granted only
// while all of them together fit in the budget; what is built for a moment comes on top, one module for each running view. All members may be called
// from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fingerprint.h"
#include "residency/resident.h"

namespace veneer::residency {

class ResidentSet;

enum class Keep : uint8_t {
  hold,     // the lease is to last: granted when it fits in the budget beside all others of its kind, otherwise as `cache`
  cache,    // a lease for a moment; the entry stays afterwards while there is room
  discard,  // a lease for a moment; the entry goes with its last lease
};

// Keeps one entry. Move-only; the entry is let go when the lease is destroyed, assigned over or reset.
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
  // The entry's object, which outlives the entry as long as somebody has it.
  const std::shared_ptr<const Resident>& object() const { return object_; }
  // Whether Keep::hold was granted.
  bool held() const { return held_; }
  void reset() noexcept;

 private:
  friend class ResidentSet;
  struct State;
  std::shared_ptr<const Resident> object_;
  std::shared_ptr<void> set_;  // the set's state, which may outlive the set
  Fingerprint key_;
  bool held_ = false;
  bool discard_ = false;
};

// What is asked of the set.
struct ResidentRequest {
  Fingerprint key;
  // The entry is dropped once it expires.
  std::weak_ptr<const void> owner;
  // For the account: whose it is and what.
  std::string_view owner_name = {};
  std::string_view label = {};
  // The files, besides the owner's, that the object is made of: see ResidentSet::disown.
  std::vector<std::string> sources = {};
  // Bytes that the object will have, as far as one can tell.
  size_t expected_bytes = 0;
  Keep keep = Keep::hold;
};

class ResidentSet {
 public:
  static constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

  explicit ResidentSet(size_t budget_bytes = kUnlimited);
  ~ResidentSet();
  ResidentSet(const ResidentSet&) = delete;
  ResidentSet& operator=(const ResidentSet&) = delete;

  using Build = std::function<std::shared_ptr<const Resident>()>;
  // The entry for the key, built with `build` if it is absent. Concurrent calls for one key build once: the others wait. `build` runs without the
  // set's lock; what it throws is rethrown here and leaves no entry.
  Lease acquire(const ResidentRequest& request, const Build& build);
  // An existing entry, or an empty lease.
  Lease find(const Fingerprint& key, Keep keep);

  // Whether an entry exists, without counting as a use.
  bool contains(const Fingerprint& key) const;

  // Drops unleased entries: those of expired owners first, then the least recently used, until at most `target_bytes` are held. Returns bytes freed.
  size_t trim(size_t target_bytes);

  // Entries that were made of one of the files are no longer kept for later: they go now, or with their last lease. Returns bytes freed.
  size_t disown(std::span<const std::string> sources);

  struct Account {
    std::string owner;
    std::string label;
    Fingerprint key;
    size_t size_bytes = 0;
    size_t leases = 0;
    bool held = false;
    uint64_t last_use = 0;  // a counter of uses, not a time
  };
  // Every entry, most recently used first.
  std::vector<Account> account() const;
  size_t size_bytes() const;
  // Of entries with a lease that is to last.
  size_t held_bytes() const;
  // What such leases may still take.
  size_t available_bytes() const;
  // The largest size_bytes() seen after any acquire.
  size_t peak_bytes() const;
  size_t budget_bytes() const;
  // From now on; what is over it is evicted where no lease holds it. For tests and for an engine whose budget is changed while it runs.
  void set_budget(size_t budget_bytes);
  void reset_peak();
  size_t num_leases() const;
  // Objects built since the start, and their bytes: what switching between variants cost.
  size_t num_builds() const;
  size_t built_bytes() const;
  // Objects dropped to make room, or by `trim`, and their bytes.
  size_t num_evictions() const;
  size_t evicted_bytes() const;

 private:
  // A lease on an entry that is there. The lock is held.
  Lease take(const Fingerprint& key, Keep keep);

  std::shared_ptr<Lease::State> state_;
};

}  // namespace veneer::residency
