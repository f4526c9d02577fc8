#include "compute/packed_layer.h"

#include "compute/packed_size.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {

PackedLayer::PackedLayer(WeightSource source, const WeightAxes& axes, onednn::Desc plain, onednn::Desc any, DType dtype, DType kept)
    : source_(std::move(source)),
      axes_(axes),
      plain_(std::move(plain)),
      any_(std::move(any)),
      dtype_(dtype),
      kept_(kept),
      estimate_(packed_size_estimate(source_.shape(), dtype, kept)) {}

PackedLayer::Ready PackedLayer::ready(const Context& context, const OperationKey& key, const Compile& compile) {
  Ready out = ready_as_kept(context, key, compile);
  if (out.weights.dtype() != dtype_) out.weights = to_dtype(out.weights, dtype_, context.scratch);
  return out;
}

PackedLayer::Ready PackedLayer::ready_as_kept(const Context& context, const OperationKey& key, const Compile& compile) {
  Ready out;
  const std::lock_guard lock(mutex_);
  out.operation = find(key);
  if (!out.operation) out.operation = add(context.operations.get(), key, compile);
  out.weights = packed_.defined() && layout_ == out.operation->layout ? packed_ : pack(out.operation->layout, context.scratch);
  return out;
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

// Returns what was packed as the operation takes it, so that a first use does not expand what it has just narrowed.
Tensor PackedLayer::pack(const onednn::Desc& wanted, Allocator& scratch) {
  const bool narrow = kept_ != dtype_ && onednn::blocked_layout(wanted).has_value();
  Tensor ready = packed_as(wanted, scratch, narrow ? scratch : system_allocator());
  packed_ = narrow ? to_dtype(ready, kept_) : ready;
  layout_ = wanted;
  source_ = WeightSource();
  return ready;
}

Tensor PackedLayer::packed_as(const onednn::Desc& wanted, Allocator& scratch, Allocator& target) const {
  const auto elements = static_cast<int64_t>(wanted.get_size() / size_of(dtype_));
  Tensor out = Tensor::empty({elements}, dtype_, target);
  if (packed_.defined()) {
    onednn::reorder(layout_, to_dtype(packed_, dtype_, scratch).bytes(), wanted, out.mutable_bytes());
    return out;
  }
  const auto layout = onednn::blocked_layout(wanted);
  if (layout && can_pack(source_.dtype(), axes_, *layout, dtype_)) {
    pack_weight(source_, axes_, *layout, dtype_, out.mutable_bytes());
  } else {
    const Tensor converted = to_dtype(source_.whole(), dtype_, scratch);
    onednn::reorder(plain_, converted.bytes(), wanted, out.mutable_bytes());
  }
  return out;
}

}  // namespace veneer::compute
