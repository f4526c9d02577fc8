// Keys and values that cross attentions make of a prompt: the same at every step of a run, so they are computed at the first one.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/fingerprint.h"
#include "tensor/tensor.h"
#include "variant/base_model.h"

namespace veneer::models {

// Whoever owns it uses it from one thread at a time. What it gives are the very tensors that were computed before, so results keep their bits.
class TextCache {
 public:
  // Least recently used texts go when there are more than this, or more bytes: areas and schedules bring several per step.
  static constexpr size_t kMostTexts = 16;
  static constexpr size_t kMostBytes = size_t{256} << 20;

  struct KeysAndValues {
    Tensor keys, values;  // [N, T, C], read-only
  };

  // What the evaluation that is about to begin has. `variant`: of everything that decides what the modules compute; text: [N, T, width] f32.
  void begin(const Fingerprint& variant, DType dtype, const Tensor& text);
  // Of the text given to begin(). Null when there is none.
  const KeysAndValues* find(variant::ModuleId keys) const;
  // Keeps them unless that would take more than kMostBytes. The tensors must not be written to afterwards.
  void put(variant::ModuleId keys, const KeysAndValues& made);

  size_t texts() const { return entries_.size(); }
  size_t size_bytes() const { return bytes_; }

 private:
  struct Entry {
    Fingerprint key;
    size_t bytes = 0;
    std::unordered_map<variant::ModuleId, KeysAndValues> made;
  };
  void drop_last();

  std::list<Entry> entries_;  // the last used first
  size_t bytes_ = 0;
};

}  // namespace veneer::models
