#include "residency/resident_set.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace veneer::residency {
namespace {

struct Entry {
  std::shared_ptr<const Resident> object;  // null while it is being built
  std::weak_ptr<const void> owner;
  std::string label;
  size_t leases = 0;
  uint64_t last_use = 0;
};

}  // namespace

struct Lease::State {
  mutable std::mutex mutex;
  std::condition_variable built;
  std::unordered_map<Fingerprint, Entry> entries;
  size_t budget_bytes = ResidentSet::kUnlimited;
  size_t peak_bytes = 0;
  uint64_t uses = 0;

  size_t total() const {
    size_t sum = 0;
    for (const auto& [key, entry] : entries) sum += entry.object ? entry.object->size_bytes() : 0;
    return sum;
  }

  // Objects are returned, not destroyed, so that their memory is freed after the lock is.
  std::vector<std::shared_ptr<const Resident>> evict_to(size_t target_bytes) {
    std::vector<std::shared_ptr<const Resident>> dropped;
    std::vector<std::pair<uint64_t, Fingerprint>> candidates;
    for (auto it = entries.begin(); it != entries.end();) {
      Entry& entry = it->second;
      if (!entry.object || entry.leases > 0) {
        ++it;
      } else if (entry.owner.expired()) {
        dropped.push_back(std::move(entry.object));
        it = entries.erase(it);
      } else {
        candidates.emplace_back(entry.last_use, it->first);
        ++it;
      }
    }
    size_t held = total();
    if (held <= target_bytes) return dropped;
    std::sort(candidates.begin(), candidates.end());
    for (const auto& [use, key] : candidates) {
      if (held <= target_bytes) break;
      const auto it = entries.find(key);
      held -= it->second.object->size_bytes();
      dropped.push_back(std::move(it->second.object));
      entries.erase(it);
    }
    return dropped;
  }
};

Lease::Lease(Lease&& other) noexcept
    : object_(std::exchange(other.object_, nullptr)), set_(std::exchange(other.set_, nullptr)), key_(std::exchange(other.key_, Fingerprint{})) {}

Lease& Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    reset();
    object_ = std::exchange(other.object_, nullptr);
    set_ = std::exchange(other.set_, nullptr);
    key_ = std::exchange(other.key_, Fingerprint{});
  }
  return *this;
}

void Lease::reset() noexcept {
  if (!set_) return;
  auto* state = static_cast<State*>(set_.get());
  {
    const std::lock_guard lock(state->mutex);
    // Present for sure: an entry with leases is never evicted.
    --state->entries.find(key_)->second.leases;
  }
  object_.reset();
  set_.reset();
}

ResidentSet::ResidentSet(size_t budget_bytes) : state_(std::make_shared<Lease::State>()) { state_->budget_bytes = budget_bytes; }

ResidentSet::~ResidentSet() = default;

Lease ResidentSet::acquire(const Fingerprint& key, const std::weak_ptr<const void>& owner, const std::string& label,
                           const std::function<std::shared_ptr<const Resident>()>& build) {
  std::vector<std::shared_ptr<const Resident>> dropped;  // destroyed after the lock
  std::unique_lock lock(state_->mutex);
  while (true) {
    const auto [it, inserted] = state_->entries.try_emplace(key);
    if (inserted) break;
    if (it->second.object) {
      Entry& entry = it->second;
      ++entry.leases;
      entry.last_use = ++state_->uses;
      Lease lease;
      lease.object_ = entry.object;
      lease.set_ = state_;
      lease.key_ = key;
      return lease;
    }
    state_->built.wait(lock);
  }

  lock.unlock();
  std::shared_ptr<const Resident> object;
  try {
    object = build();
  } catch (...) {
    lock.lock();
    state_->entries.erase(key);
    state_->built.notify_all();
    throw;
  }
  lock.lock();
  Entry& entry = state_->entries.at(key);
  entry.object = std::move(object);
  entry.owner = owner;
  entry.label = label;
  entry.leases = 1;
  entry.last_use = ++state_->uses;
  Lease lease;
  lease.object_ = entry.object;
  lease.set_ = state_;
  lease.key_ = key;
  if (state_->budget_bytes != kUnlimited) dropped = state_->evict_to(state_->budget_bytes);
  state_->peak_bytes = std::max(state_->peak_bytes, state_->total());
  state_->built.notify_all();
  return lease;
}

bool ResidentSet::contains(const Fingerprint& key) const {
  const std::lock_guard lock(state_->mutex);
  const auto it = state_->entries.find(key);
  return it != state_->entries.end() && it->second.object != nullptr;
}

size_t ResidentSet::trim(size_t target_bytes) {
  std::vector<std::shared_ptr<const Resident>> dropped;
  const std::lock_guard lock(state_->mutex);
  const size_t before = state_->total();
  dropped = state_->evict_to(target_bytes);
  return before - state_->total();
}

std::vector<ResidentSet::Account> ResidentSet::account() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Account> out;
  for (const auto& [key, entry] : state_->entries) {
    if (entry.object) out.push_back({entry.label, key, entry.object->size_bytes(), entry.leases, entry.last_use});
  }
  std::sort(out.begin(), out.end(), [](const Account& a, const Account& b) { return a.last_use > b.last_use; });
  return out;
}

size_t ResidentSet::size_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->total();
}

size_t ResidentSet::peak_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return std::max(state_->peak_bytes, state_->total());
}

size_t ResidentSet::budget_bytes() const { return state_->budget_bytes; }

size_t ResidentSet::num_leases() const {
  const std::lock_guard lock(state_->mutex);
  size_t sum = 0;
  for (const auto& [key, entry] : state_->entries) sum += entry.leases;
  return sum;
}

}  // namespace veneer::residency
