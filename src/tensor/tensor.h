// Tensor: a shape, a dtype and shared ownership of contiguous row-major bytes.
//
// A Tensor is a cheap handle. Handles made by copying, `reshape` and `slice` share the bytes. Tensors over a mapped file are read-only:
// mutable access to them is a programming fault. Whoever wants its own bytes says `clone()`. Handles may be copied between threads; writing
// while another thread reads the same bytes is the caller's race.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace veneer {

// Where bytes of new tensors come from. Implementations may recycle blocks; memory is returned by dropping the shared_ptr, which may happen
// on another thread and after the allocator itself is gone.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // `size_bytes` > 0, result aligned to 64 bytes, content undefined. Throws Error(no_memory).
  virtual std::shared_ptr<std::byte> allocate(size_t size_bytes) = 0;
};

// Memory from the system. Blocks of 256 KiB and more lie in huge pages where the system grants them, and come from those that came back before: of
// these it keeps at most a 32nd of the machine's memory. Thread-safe.
Allocator& system_allocator();
// Gives what the system allocator keeps back to the system.
void release_idle_memory();

class Tensor {
 public:
  Tensor() = default;  // no bytes: defined() is false

  static Tensor empty(const Shape& shape, DType dtype, Allocator& allocator = system_allocator());
  static Tensor zeros(const Shape& shape, DType dtype, Allocator& allocator = system_allocator());
  // Copies the values. The element count has to fit the shape.
  static Tensor from(const Shape& shape, std::span<const float> values);
  // A read-only tensor over bytes that `owner` keeps alive. `data` may be unaligned for its dtype: see aligned(). Throws Error(corrupt) when a
  // quantised dtype's blocks do not fill the shape.
  static Tensor view(const Shape& shape, DType dtype, const void* data, std::shared_ptr<const void> owner);
  // The same bytes with each element standing for `scale` times its stored value. fp8 only, and a finite scale above 0, else Error(invalid).
  Tensor with_scale(float scale) const;

  bool defined() const { return owner_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int dim_index) const { return shape_[dim_index]; }
  int rank() const { return shape_.rank(); }
  DType dtype() const { return dtype_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  size_t size_bytes() const {
    const BlockSize block = block_size(dtype_);
    return static_cast<size_t>(num_elements()) / block.elements * block.bytes;
  }
  // What each stored element is multiplied by; other than 1 for scaled fp8 only. Conversions apply it.
  float scale() const { return scale_; }
  // What the values can be kept in one by one, without scales: f32 for quantised and scaled tensors, else the dtype.
  DType plain_dtype() const { return is_quantised(dtype_) || scale_ != 1 ? DType::f32 : dtype_; }
  bool writable() const { return writable_; }
  // Whether the first byte is aligned for the dtype. Files do not promise it; typed access needs it.
  bool aligned() const { return is_quantised(dtype_) || reinterpret_cast<uintptr_t>(data_) % size_of(dtype_) == 0; }

  const std::byte* bytes() const { return data_; }
  std::byte* mutable_bytes() {
    assert(writable_ || num_elements() == 0);
    return const_cast<std::byte*>(data_);
  }
  std::span<const std::byte> byte_span() const { return {data_, size_bytes()}; }
  template <typename T>
  const T* data() const {
    assert(sizeof(T) == size_of(dtype_));
    return reinterpret_cast<const T*>(data_);
  }
  template <typename T>
  T* mutable_data() {
    assert(sizeof(T) == size_of(dtype_));
    return reinterpret_cast<T*>(mutable_bytes());
  }
  // All elements of an f32 tensor.
  std::span<const float> floats() const { return {data<float>(), static_cast<size_t>(num_elements())}; }
  std::span<float> mutable_floats() { return {mutable_data<float>(), static_cast<size_t>(num_elements())}; }

  // Shares the bytes under another shape of the same element count.
  Tensor reshape(const Shape& shape) const;
  // Shares rows [begin, begin + count) of the first dimension. Throws Error(unsupported) where that would cut a quantised block.
  Tensor slice(int64_t begin, int64_t count) const;
  // Own, writable, aligned bytes.
  Tensor clone(Allocator& allocator = system_allocator()) const;

 private:
  Shape shape_;
  DType dtype_ = DType::f32;
  bool writable_ = false;
  float scale_ = 1;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace veneer
