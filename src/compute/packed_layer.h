// Weights of one layer in oneDNN's layout, and the operations compiled for the shapes that it met lately.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compute/onednn.h"
#include "compute/packed_size.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {

// Invariants: exactly one of source_ (before the first use) and packed_ holds the weights; every compiled operation is used with the layout it
// was compiled for. Thread-safe. Key: a shape with operator==.
template <typename Key>
class PackedLayer {
 public:
  struct Ready {
    std::shared_ptr<const onednn::Operation> operation;
    Tensor weights;  // bytes in operation->layout
  };
  // Compiles for weights in the layout given (format "any" included).
  using Compile = std::function<onednn::Operation(const onednn::Desc& weights)>;

  // source: in any floating dtype; `plain` describes its elements in the compute dtype, row-major or however the source lies.
  PackedLayer(const Tensor& source, onednn::Desc plain, onednn::Desc any, DType dtype)
      : source_(source), plain_(std::move(plain)), any_(std::move(any)), dtype_(dtype), estimate_(packed_size_estimate(source.shape(), dtype)) {}

  Ready ready(const Key& key, const Compile& compile) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const onednn::Operation> operation = find(key);
    if (!operation) operation = add(key, compile);
    pack(operation->layout);
    return {std::move(operation), packed_};
  }

  // Of the packed weights; before the first use, what they will likely take.
  size_t size_bytes() const {
    const std::lock_guard lock(mutex_);
    return packed_.defined() ? packed_.size_bytes() : estimate_;
  }

 private:
  static constexpr size_t kMostOperations = 8;

  std::shared_ptr<const onednn::Operation> find(const Key& key) const {
    for (const auto& [known, operation] : operations_) {
      if (known == key) return operation;
    }
    return nullptr;
  }

  std::shared_ptr<const onednn::Operation> add(const Key& key, const Compile& compile) {
    onednn::Operation operation = compile(any_);
    if (packed_.defined() && operation.layout != layout_) {
      // Another shape would like another layout. Stay with what is packed unless that costs the fast kernel.
      try {
        onednn::Operation same = compile(layout_);
        if (same.implementation == operation.implementation) operation = std::move(same);
      } catch (const Error&) {
        // The layout does not suit any kernel for this shape: repack.
      }
    }
    if (operations_.size() >= kMostOperations) operations_.erase(operations_.begin());
    operations_.emplace_back(key, std::make_shared<const onednn::Operation>(std::move(operation)));
    return operations_.back().second;
  }

  void pack(const onednn::Desc& wanted) {
    if (packed_.defined() && wanted == layout_) return;
    Tensor target = Tensor::empty({static_cast<int64_t>(wanted.get_size())}, DType::u8);
    if (packed_.defined()) {
      onednn::reorder(layout_, packed_.bytes(), wanted, target.mutable_bytes());
    } else {
      const Tensor converted = to_dtype(source_, dtype_);
      onednn::reorder(plain_, converted.bytes(), wanted, target.mutable_bytes());
      source_ = Tensor();
    }
    packed_ = std::move(target);
    layout_ = wanted;
  }

  mutable std::mutex mutex_;
  Tensor source_, packed_;
  onednn::Desc plain_, any_, layout_;
  DType dtype_;
  size_t estimate_;
  std::vector<std::pair<Key, std::shared_ptr<const onednn::Operation>>> operations_;
};

}  // namespace veneer::compute
