#include "tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "veneer/error.h"

namespace veneer {
Tensor Tensor::empty(const Shape& shape, DType dtype, Allocator& allocator) {
  const uint64_t size = storage_bytes(dtype, static_cast<uint64_t>(shape.num_elements()));
  // One byte stands for an empty tensor, so that defined() holds.
  std::shared_ptr<std::byte> block = allocator.allocate(std::max<uint64_t>(size, 1));
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.writable_ = true;
  tensor.data_ = block.get();
  tensor.owner_ = std::move(block);
  return tensor;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Allocator& allocator) {
  Tensor tensor = empty(shape, dtype, allocator);
  std::memset(tensor.mutable_bytes(), 0, tensor.size_bytes());
  return tensor;
}

Tensor Tensor::from(const Shape& shape, std::span<const float> values) {
  if (static_cast<int64_t>(values.size()) != shape.num_elements()) {
    throw Error(ErrorCode::invalid, "tensor: values do not fit the shape", {{"shape", shape.to_string()}, {"values", std::to_string(values.size())}});
  }
  Tensor tensor = empty(shape, DType::f32);
  std::copy(values.begin(), values.end(), tensor.mutable_data<float>());
  return tensor;
}

Tensor Tensor::view(const Shape& shape, DType dtype, const void* data, std::shared_ptr<const void> owner) {
  if (is_quantised(dtype)) (void)storage_bytes(dtype, static_cast<uint64_t>(shape.num_elements()));
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.data_ = static_cast<const std::byte*>(data);
  tensor.owner_ = std::move(owner);
  return tensor;
}

Tensor Tensor::with_scale(float scale) const {
  if (dtype_ != DType::f8_e4m3fn && dtype_ != DType::f8_e5m2) {
    throw Error(ErrorCode::invalid, "tensor: only fp8 has a scale", {{"dtype", std::string(veneer::to_string(dtype_))}});
  }
  if (!(std::isfinite(scale) && scale > 0)) {
    throw Error(ErrorCode::invalid, "tensor: scale is not a finite number above 0", {{"scale", std::to_string(scale)}});
  }
  Tensor tensor = *this;
  tensor.scale_ = scale;
  return tensor;
}

Tensor Tensor::reshape(const Shape& shape) const {
  if (shape.num_elements() != num_elements()) {
    throw Error(ErrorCode::invalid, "tensor: reshape changes the element count", {{"from", shape_.to_string()}, {"to", shape.to_string()}});
  }
  Tensor tensor = *this;
  tensor.shape_ = shape;
  return tensor;
}

Tensor Tensor::slice(int64_t begin, int64_t count) const {
  if (rank() == 0 || begin < 0 || count < 0 || count > dim(0) || begin > dim(0) - count) {
    throw Error(ErrorCode::invalid, "tensor: slice leaves the first dimension",
                {{"shape", shape_.to_string()}, {"begin", std::to_string(begin)}, {"count", std::to_string(count)}});
  }
  const BlockSize block = block_size(dtype_);
  const auto first = static_cast<size_t>(begin * shape_.num_elements_from(1)), size = static_cast<size_t>(count * shape_.num_elements_from(1));
  if (first % block.elements != 0 || size % block.elements != 0) {
    throw Error(ErrorCode::unsupported, "tensor: slice cuts a quantised block",
                {{"shape", shape_.to_string()}, {"begin", std::to_string(begin)}, {"count", std::to_string(count)}});
  }
  Tensor tensor = *this;
  tensor.shape_ = shape_.with(0, count);
  tensor.data_ = data_ + first / block.elements * block.bytes;
  return tensor;
}

Tensor Tensor::clone(Allocator& allocator) const {
  Tensor tensor = empty(shape_, dtype_, allocator);
  tensor.scale_ = scale_;
  std::memcpy(tensor.mutable_bytes(), data_, size_bytes());
  return tensor;
}

}  // namespace veneer
