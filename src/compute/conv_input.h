// What a convolution reads: a picture, as it is or enlarged first.
#pragma once

#include <cstdint>
#include <utility>

#include "compute/context.h"
#include "tensor/tensor.h"

namespace veneer::compute {

// A handle on [N, H, W, C] in the context's dtype.
class ConvInput {
 public:
  // Implicit: most convolutions read a tensor.
  ConvInput(Tensor x) : tensor_(std::move(x)) {}
  // Enlarged to height x width by nearest neighbour: pixel (i, j) is the tensor's at (i * H / height, j * W / width).
  ConvInput(Tensor x, int64_t height, int64_t width) : tensor_(std::move(x)), height_(height), width_(width) {}

  const Tensor& tensor() const { return tensor_; }
  // Whether every pixel stands for two by two.
  bool is_doubled() const { return height_ != 0 && tensor_.rank() == 4 && height_ == 2 * tensor_.dim(1) && width_ == 2 * tensor_.dim(2); }
  // What is read, enlarged in memory.
  Tensor whole(Context& context) const;

  int rank() const { return tensor_.rank(); }
  int64_t dim(int index) const { return tensor_.dim(index); }
  const Shape& shape() const { return tensor_.shape(); }
  // Pictures [begin, begin + count) of the batch.
  ConvInput slice(int64_t begin, int64_t count) const { return {tensor_.slice(begin, count), height_, width_}; }

 private:
  Tensor tensor_;
  int64_t height_ = 0, width_ = 0;  // 0: not enlarged
};

}  // namespace veneer::compute
