#include "compute/packed_layer.h"

#include "compute/packed_size.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {

PackedLayer::PackedLayer(WeightSource source, const WeightAxes& axes, onednn::Desc plain, onednn::Desc any, DType dtype)
    : source_(std::move(source)),
      axes_(axes),
      plain_(std::move(plain)),
      any_(std::move(any)),
      dtype_(dtype),
      estimate_(packed_size_estimate(source_.shape(), dtype)) {}

PackedLayer::Ready PackedLayer::ready(OperationCache* shared, const OperationKey& key, const Compile& compile) {
  const std::lock_guard lock(mutex_);
  OperationPtr operation = find(key);
  if (!operation) operation = add(shared, key, compile);
  pack(operation->layout);
  return {std::move(operation), packed_};
}

size_t PackedLayer::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return packed_.defined() ? packed_.size_bytes() : estimate_;
}

PackedLayer::OperationPtr PackedLayer::find(const OperationKey& key) const {
  for (const auto& [known, operation] : operations_) {
    if (known == key) return operation;
  }
  return nullptr;
}

PackedLayer::OperationPtr PackedLayer::add(OperationCache* shared, const OperationKey& key, const Compile& compile) {
  const auto compiled = [&](const onednn::Desc& weights) {
    return shared != nullptr ? shared->get(key, weights, compile) : std::make_shared<const onednn::Operation>(compile(weights));
  };
  OperationPtr operation = compiled(any_);
  if (packed_.defined() && operation->layout != layout_) {
    // Another shape would like another layout. Stay with what is packed unless that costs the fast kernel.
    try {
      OperationPtr same = compiled(layout_);
      if (same->implementation == operation->implementation) operation = std::move(same);
    } catch (const Error&) {
      // The layout does not suit any kernel for this shape: repack.
    }
  }
  if (operations_.size() >= kMostOperations) operations_.erase(operations_.begin());
  operations_.emplace_back(key, std::move(operation));
  return operations_.back().second;
}

void PackedLayer::pack(const onednn::Desc& wanted) {
  if (packed_.defined() && wanted == layout_) return;
  Tensor target = Tensor::empty({static_cast<int64_t>(wanted.get_size())}, DType::u8);
  if (packed_.defined()) {
    onednn::reorder(layout_, packed_.bytes(), wanted, target.mutable_bytes());
  } else {
    const auto layout = onednn::blocked_layout(wanted);
    if (layout && can_pack(source_.dtype(), axes_, *layout, dtype_)) {
      pack_weight(source_, axes_, *layout, dtype_, target.mutable_bytes());
    } else {
      const Tensor converted = to_dtype(source_.whole(), dtype_);
      onednn::reorder(plain_, converted.bytes(), wanted, target.mutable_bytes());
    }
    source_ = WeightSource();
  }
  packed_ = std::move(target);
  layout_ = wanted;
}

}  // namespace veneer::compute
