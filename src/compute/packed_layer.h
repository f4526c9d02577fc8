// Weights of one layer in oneDNN's layout, perhaps in a narrower dtype than they are computed with, and the operations compiled for the shapes that
// it met lately.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "compute/onednn.h"
#include "compute/operation_cache.h"
#include "compute/pack_weight.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// Invariants: exactly one of source_ (before the first use) and packed_ holds the weights; every compiled operation is used with the layout it
// was compiled for. Thread-safe.
class PackedLayer {
 public:
  struct Ready {
    std::shared_ptr<const onednn::Operation> operation;
    Tensor weights;  // bytes in operation->layout, in the compute dtype but for ready_as_kept(); scratch memory where they are not kept so
  };
  using Compile = OperationCache::Compile;

  // source: [out, in, ...]; `plain` describes its elements in the compute dtype, `axes` which of its axes are which. `kept`: the compute dtype or one
  // that has all values of the source, in which packed weights stay in memory.
  PackedLayer(WeightSource source, const WeightAxes& axes, onednn::Desc plain, onednn::Desc any, DType dtype, DType kept);

  // The operation for the key, from the layer's own, the context's cache or `compile`, and the weights packed for it.
  Ready ready(const Context& context, const OperationKey& key, const Compile& compile);
  // The same with the weights in the dtype in which they stay, or in the compute dtype where they have been packed just now.
  Ready ready_as_kept(const Context& context, const OperationKey& key, const Compile& compile);

  // Of the packed weights; before the first use, what they will likely take.
  size_t size_bytes() const;

 private:
  static constexpr size_t kMostOperations = 8;
  using OperationPtr = std::shared_ptr<const onednn::Operation>;

  OperationPtr find(const OperationKey& key) const;
  OperationPtr add(OperationCache* shared, const OperationKey& key, const Compile& compile);
  Tensor pack(const onednn::Desc& wanted, Allocator& scratch);
  Tensor packed_as(const onednn::Desc& wanted, Allocator& scratch, Allocator& target) const;

  mutable std::mutex mutex_;
  WeightSource source_;
  Tensor packed_;
  WeightAxes axes_;
  onednn::Desc plain_, any_, layout_;
  DType dtype_, kept_;
  size_t estimate_;
  std::vector<std::pair<OperationKey, OperationPtr>> operations_;
};

}  // namespace veneer::compute
