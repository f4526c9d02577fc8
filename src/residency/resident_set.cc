#include "residency/resident_set.h"

#include <algorithm>
#include <condition_variable>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace veneer::residency {
namespace {

struct Entry {
  Fingerprint key;
  std::shared_ptr<const Resident> object;  // null while it is being built
  std::weak_ptr<const void> owner;
  std::string owner_name, label;
  std::vector<std::string> sources;
  size_t bytes = 0;  // as last asked; what the entry is expected to have while it is being built
  size_t leases = 0;
  size_t holds = 0;  // leases that are to last
  uint64_t last_use = 0;
};

// Entries move between lists and never in memory, so that letting go needs no memory.
using Entries = std::list<Entry>;

}  // namespace

// Invariants: total_bytes and held_bytes are the sums of Entry::bytes over all entries and over those with holds; `idle` has the entries with an
// object and no lease, by last use; `busy` has the others.
struct Lease::State {
  mutable std::mutex mutex;
  std::condition_variable built;
  std::unordered_map<Fingerprint, Entries::iterator> entries;
  Entries idle, busy;
  size_t budget_bytes = ResidentSet::kUnlimited;
  size_t total_bytes = 0;
  size_t held_bytes = 0;
  size_t peak_bytes = 0;
  uint64_t uses = 0;
  size_t builds = 0;
  size_t built_bytes = 0;
  size_t evictions = 0;
  size_t evicted_bytes = 0;

  void set_bytes(Entry& entry, size_t bytes) {
    total_bytes += bytes - entry.bytes;
    if (entry.holds > 0) held_bytes += bytes - entry.bytes;
    entry.bytes = bytes;
    peak_bytes = std::max(peak_bytes, total_bytes);
  }

  // Weights that were packed since then have another size.
  void measure(Entry& entry) { set_bytes(entry, entry.object->size_bytes()); }

  bool fits_held(const Entry& entry) const {
    if (budget_bytes == ResidentSet::kUnlimited || entry.holds > 0) return true;
    return entry.bytes <= budget_bytes && held_bytes <= budget_bytes - entry.bytes;
  }

  // An entry that nobody holds any more. Mostly it was used last of all.
  void make_idle(Entries::iterator entry) {
    auto place = idle.end();
    while (place != idle.begin() && std::prev(place)->last_use > entry->last_use) --place;
    idle.splice(place, busy, entry);
  }

  // Entries are handed out, not destroyed, so that their memory is freed after the lock is.
  void drop(Entries& from, Entries::iterator entry, Entries& dropped) {
    set_bytes(*entry, 0);
    entries.erase(entry->key);
    dropped.splice(dropped.end(), from, entry);
  }

  void evict_to(size_t target_bytes, Entries& dropped) {
    while (total_bytes > target_bytes && !idle.empty()) {
      ++evictions;
      evicted_bytes += idle.front().bytes;
      drop(idle, idle.begin(), dropped);
    }
  }

  void drop_orphans(Entries& dropped) {
    for (auto entry = idle.begin(); entry != idle.end();) {
      const auto next = std::next(entry);
      if (entry->owner.expired()) drop(idle, entry, dropped);
      entry = next;
    }
  }

  // What the other entries may have so that `bytes` more stay within the budget.
  size_t room_for(size_t bytes) const {
    if (budget_bytes == ResidentSet::kUnlimited) return ResidentSet::kUnlimited;
    return budget_bytes > bytes ? budget_bytes - bytes : 0;
  }
};

Lease::Lease(Lease&& other) noexcept
    : object_(std::exchange(other.object_, nullptr)),
      set_(std::exchange(other.set_, nullptr)),
      key_(std::exchange(other.key_, Fingerprint{})),
      held_(std::exchange(other.held_, false)),
      discard_(std::exchange(other.discard_, false)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    reset();
    object_ = std::exchange(other.object_, nullptr);
    set_ = std::exchange(other.set_, nullptr);
    key_ = std::exchange(other.key_, Fingerprint{});
    held_ = std::exchange(other.held_, false);
    discard_ = std::exchange(other.discard_, false);
  }
  return *this;
}

void Lease::reset() noexcept {
  if (!set_) return;
  auto* state = static_cast<State*>(set_.get());
  Entries dropped;  // destroyed after the lock
  {
    const std::lock_guard lock(state->mutex);
    // Present for sure: an entry with leases is never evicted.
    const auto entry = state->entries.find(key_)->second;
    state->measure(*entry);
    if (held_ && --entry->holds == 0) state->held_bytes -= entry->bytes;
    if (--entry->leases == 0) {
      if (discard_ || entry->owner.expired()) {
        state->drop(state->busy, entry, dropped);
      } else {
        state->make_idle(entry);
      }
    }
    state->evict_to(state->room_for(0), dropped);
  }
  object_.reset();
  set_.reset();
  held_ = discard_ = false;
}

ResidentSet::ResidentSet(size_t budget_bytes) : state_(std::make_shared<Lease::State>()) { state_->budget_bytes = budget_bytes; }

ResidentSet::~ResidentSet() = default;

Lease ResidentSet::take(const Fingerprint& key, Keep keep) {
  const auto entry = state_->entries.find(key)->second;
  if (entry->leases == 0) state_->busy.splice(state_->busy.end(), state_->idle, entry);
  ++entry->leases;
  entry->last_use = ++state_->uses;
  Lease lease;
  lease.object_ = entry->object;
  lease.set_ = state_;
  lease.key_ = key;
  lease.discard_ = keep == Keep::discard;
  if (keep == Keep::hold && state_->fits_held(*entry)) {
    lease.held_ = true;
    if (entry->holds++ == 0) state_->held_bytes += entry->bytes;
  }
  return lease;
}

Lease ResidentSet::acquire(const ResidentRequest& request, const Build& build) {
  Entries dropped;  // destroyed after the lock
  std::unique_lock lock(state_->mutex);
  for (auto known = state_->entries.find(request.key); known != state_->entries.end(); known = state_->entries.find(request.key)) {
    if (known->second->object) {
      state_->measure(*known->second);
      return take(request.key, request.keep);
    }
    state_->built.wait(lock);
  }
  Entries made(1);
  const auto entry = made.begin();
  entry->key = request.key;
  entry->owner = request.owner;
  entry->owner_name = request.owner_name;
  entry->label = request.label;
  entry->sources = request.sources;
  state_->entries.emplace(request.key, entry);
  state_->busy.splice(state_->busy.end(), made);
  state_->drop_orphans(dropped);
  state_->evict_to(state_->room_for(request.expected_bytes), dropped);
  state_->set_bytes(*entry, request.expected_bytes);
  lock.unlock();
  dropped.clear();
  std::shared_ptr<const Resident> object;
  try {
    object = build();
  } catch (...) {
    lock.lock();
    state_->drop(state_->busy, entry, dropped);
    state_->built.notify_all();
    throw;
  }
  lock.lock();
  entry->object = std::move(object);
  state_->measure(*entry);
  ++state_->builds;
  state_->built_bytes += entry->bytes;
  entry->leases = 1;  // out of reach for the eviction below
  state_->evict_to(state_->room_for(0), dropped);
  Lease lease = take(request.key, request.keep);
  --entry->leases;
  state_->built.notify_all();
  return lease;
}

Lease ResidentSet::find(const Fingerprint& key, Keep keep) {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->entries.find(key);
  if (it == state_->entries.end() || !it->second->object) return {};
  state_->measure(*it->second);
  return take(key, keep);
}

bool ResidentSet::contains(const Fingerprint& key) const {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->entries.find(key);
  return it != state_->entries.end() && it->second->object != nullptr;
}

size_t ResidentSet::trim(size_t target_bytes) {
  Entries dropped;
  const std::lock_guard lock(state_->mutex);
  const size_t before = state_->total_bytes;
  state_->drop_orphans(dropped);
  state_->evict_to(target_bytes, dropped);
  return before - state_->total_bytes;
}

size_t ResidentSet::disown(std::span<const std::string> sources) {
  Entries dropped;
  const std::lock_guard lock(state_->mutex);
  const size_t before = state_->total_bytes;
  for (Entries* list : {&state_->idle, &state_->busy}) {
    for (Entry& entry : *list) {
      const bool made_of =
          std::ranges::any_of(entry.sources, [&](const std::string& file) { return std::ranges::find(sources, file) != sources.end(); });
      if (made_of) entry.owner.reset();
    }
  }
  state_->drop_orphans(dropped);
  return before - state_->total_bytes;
}

std::vector<ResidentSet::Account> ResidentSet::account() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Account> out;
  for (const Entries* list : {&state_->idle, &state_->busy}) {
    for (const Entry& entry : *list) {
      if (!entry.object) continue;
      out.push_back({entry.owner_name, entry.label, entry.key, entry.object->size_bytes(), entry.leases, entry.holds > 0, entry.last_use});
    }
  }
  std::sort(out.begin(), out.end(), [](const Account& a, const Account& b) { return a.last_use > b.last_use; });
  return out;
}

size_t ResidentSet::size_bytes() const {
  const std::lock_guard lock(state_->mutex);
  for (Entries* list : {&state_->idle, &state_->busy}) {
    for (Entry& entry : *list) {
      if (entry.object) state_->measure(entry);
    }
  }
  return state_->total_bytes;
}

size_t ResidentSet::held_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->held_bytes;
}

size_t ResidentSet::available_bytes() const {
  const std::lock_guard lock(state_->mutex);
  if (state_->budget_bytes == kUnlimited) return kUnlimited;
  return state_->budget_bytes > state_->held_bytes ? state_->budget_bytes - state_->held_bytes : 0;
}

size_t ResidentSet::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->peak_bytes;
}

size_t ResidentSet::budget_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->budget_bytes;
}

void ResidentSet::set_budget(size_t budget_bytes) {
  Entries dropped;
  const std::lock_guard lock(state_->mutex);
  state_->budget_bytes = budget_bytes;
  state_->evict_to(budget_bytes, dropped);
}

void ResidentSet::reset_peak() {
  const std::lock_guard lock(state_->mutex);
  state_->peak_bytes = state_->total_bytes;
}

size_t ResidentSet::num_leases() const {
  const std::lock_guard lock(state_->mutex);
  size_t sum = 0;
  for (const Entry& entry : state_->busy) sum += entry.leases;
  return sum;
}

size_t ResidentSet::num_builds() const {
  const std::lock_guard lock(state_->mutex);
  return state_->builds;
}

size_t ResidentSet::built_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->built_bytes;
}

size_t ResidentSet::num_evictions() const {
  const std::lock_guard lock(state_->mutex);
  return state_->evictions;
}

size_t ResidentSet::evicted_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->evicted_bytes;
}

}  // namespace veneer::residency
