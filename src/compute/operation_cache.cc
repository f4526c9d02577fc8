#include "compute/operation_cache.h"

#include <initializer_list>

namespace veneer::compute {
namespace {

size_t hash_of(const OperationKey& key) {
  size_t hash = 0;
  for (const int64_t value : {key.in, key.out, key.kernel_height, key.batch, key.height, key.width, static_cast<int64_t>(key.epilogue.activation)}) {
    hash = (hash ^ static_cast<size_t>(value)) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29U;
  }
  return hash;
}

}  // namespace

std::shared_ptr<OperationCache> make_operation_cache() { return std::make_shared<OperationCache>(); }

std::shared_ptr<const onednn::Operation> OperationCache::find(size_t hash, const OperationKey& key, const onednn::Desc& weights) const {
  const auto [begin, end] = entries_.equal_range(hash);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.key == key && entry->second.weights == weights) return entry->second.operation;
  }
  return nullptr;
}

std::shared_ptr<const onednn::Operation> OperationCache::get(const OperationKey& key, const onednn::Desc& weights, const Compile& compile) {
  const size_t hash = hash_of(key);
  {
    const std::lock_guard lock(mutex_);
    if (auto known = find(hash, key, weights)) return known;
  }
  auto operation = std::make_shared<const onednn::Operation>(compile(weights));
  const std::lock_guard lock(mutex_);
  if (auto known = find(hash, key, weights)) return known;
  // Which entry goes matters little: a program that meets so many shapes compiles all the time anyway.
  if (entries_.size() >= kMost) entries_.erase(entries_.begin());
  entries_.emplace(hash, Entry{key, weights, operation});
  return operation;
}

}  // namespace veneer::compute
