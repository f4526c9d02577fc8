// Operations compiled once for all layers of the same shape.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "compute/onednn.h"
#include "tensor/dtype.h"

namespace veneer::compute {

// Everything that an operation depends on but the layout of the weights.
struct OperationKey {
  bool convolution = false;
  bool bias = false;
  DType dtype = DType::f32;
  int64_t in = 0, out = 0, kernel_height = 1, kernel_width = 1;
  ConvGeometry geometry{};
  int64_t batch = 0, height = 1, width = 1;  // of the input; a matmul's rows are its batch
  onednn::EpilogueSpec epilogue{};
  int threads = 1;
  bool operator==(const OperationKey&) const = default;
};

// Thread-safe. A network has some hundred layers of a few dozen shapes, and compiling takes a tenth of a millisecond and more, so that a variant's
// new layers start at once when the shapes have been met before.
class OperationCache {
 public:
  using Compile = std::function<onednn::Operation(const onednn::Desc& weights)>;

  // The operation for weights in that layout (format "any" included), compiled by the first caller. Throws what `compile` throws.
  std::shared_ptr<const onednn::Operation> get(const OperationKey& key, const onednn::Desc& weights, const Compile& compile);

 private:
  static constexpr size_t kMost = 1024;
  struct Entry {
    OperationKey key;
    onednn::Desc weights;
    std::shared_ptr<const onednn::Operation> operation;
  };
  std::shared_ptr<const onednn::Operation> find(size_t hash, const OperationKey& key, const onednn::Desc& weights) const;

  std::mutex mutex_;
  std::unordered_multimap<size_t, Entry> entries_;
};

}  // namespace veneer::compute
