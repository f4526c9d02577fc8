#include "models/unet/text_cache.h"

#include <algorithm>

namespace veneer::models {
namespace {

// Shares the bytes and cannot be written to.
Tensor read_only(const Tensor& tensor) {
  return Tensor::view(tensor.shape(), tensor.dtype(), tensor.bytes(), std::make_shared<const Tensor>(tensor));
}

}  // namespace

void TextCache::begin(const Fingerprint& variant, DType dtype, const Tensor& text) {
  FingerprintBuilder builder;
  builder.add(variant).add(dtype);
  for (const int64_t extent : text.shape().dims()) builder.add(extent);
  builder.add_bytes({text.bytes(), text.size_bytes()});
  const Fingerprint key = builder.finish();
  const auto known = std::ranges::find(entries_, key, &Entry::key);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return;
  }
  while (entries_.size() >= kMostTexts) drop_last();
  entries_.emplace_front().key = key;
}

const TextCache::KeysAndValues* TextCache::find(variant::ModuleId keys) const {
  if (entries_.empty()) return nullptr;
  const auto& made = entries_.front().made;
  const auto found = made.find(keys);
  return found == made.end() ? nullptr : &found->second;
}

void TextCache::put(variant::ModuleId keys, const KeysAndValues& made) {
  if (entries_.empty()) return;
  const size_t bytes = made.keys.size_bytes() + made.values.size_bytes();
  while (bytes_ + bytes > kMostBytes && entries_.size() > 1) drop_last();
  if (bytes_ + bytes > kMostBytes) return;
  Entry& entry = entries_.front();
  const bool is_new = entry.made.emplace(keys, KeysAndValues{read_only(made.keys), read_only(made.values)}).second;
  if (!is_new) return;
  entry.bytes += bytes;
  bytes_ += bytes;
}

void TextCache::drop_last() {
  bytes_ -= entries_.back().bytes;
  entries_.pop_back();
}

}  // namespace veneer::models
