#include "graph/result_cache.h"

#include <algorithm>

namespace veneer::graph {

void ResultCache::begin(const std::vector<Fingerprint>& keys, const std::unordered_set<std::string>& owners) {
  ++generation_;
  if (policy_.kind == CachePolicy::Kind::none) {
    entries_.clear();
    return;
  }
  for (const Fingerprint& key : keys) {
    const auto it = entries_.find(key);
    if (it != entries_.end()) it->second.used = generation_;
  }
  if (policy_.kind == CachePolicy::Kind::lru) {
    evict_oldest();
    return;
  }
  std::erase_if(entries_, [&](const auto& item) {
    const Entry& entry = item.second;
    return entry.used != generation_ && (entry.owner.empty() || !owners.contains(entry.owner));
  });
}

void ResultCache::evict_oldest() {
  if (entries_.size() <= policy_.capacity) return;
  std::vector<std::pair<uint64_t, Fingerprint>> old;
  for (const auto& [key, entry] : entries_) {
    if (entry.used != generation_) old.emplace_back(entry.used, key);
  }
  std::ranges::sort(old);
  const size_t surplus = std::min(old.size(), entries_.size() - policy_.capacity);
  for (size_t i = 0; i < surplus; ++i) entries_.erase(old[i].second);
}

void ResultCache::end(const std::unordered_set<std::string>& ran) {
  if (policy_.kind == CachePolicy::Kind::none) {
    entries_.clear();
  } else if (policy_.kind == CachePolicy::Kind::classic) {
    std::erase_if(entries_, [&](const auto& item) {
      const Entry& entry = item.second;
      return !entry.owner.empty() && entry.used != generation_ && ran.contains(entry.owner);
    });
  }
}

Outcome ResultCache::find(const Fingerprint& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return nullptr;
  it->second.used = generation_;
  return it->second.outcome;
}

void ResultCache::store(const Fingerprint& key, Outcome outcome, const std::string& owner) {
  Entry& entry = entries_[key];
  entry.outcome = std::move(outcome);
  entry.used = generation_;
  entry.owner = owner;
}

}  // namespace veneer::graph
