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

// Plain memory from the system; blocks of 2 MiB and more are aligned to 2 MiB and ask for huge pages.
Allocator& system_allocator();

class Tensor {
 public:
  Tensor() = default;  // no bytes: defined() is false

  static Tensor empty(const Shape& shape, DType dtype, Allocator& allocator = system_allocator());
  static Tensor zeros(const Shape& shape, DType dtype, Allocator& allocator = system_allocator());
  // Copies the values. The element count has to fit the shape.
  static Tensor from(const Shape& shape, std::span<const float> values);
  // A read-only tensor over bytes that `owner` keeps alive. `data` may be unaligned for its dtype: see aligned().
  static Tensor view(const Shape& shape, DType dtype, const void* data, std::shared_ptr<const void> owner);

  bool defined() const { return owner_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int64_t dim(int dim_index) const { return shape_[dim_index]; }
  int rank() const { return shape_.rank(); }
  DType dtype() const { return dtype_; }
  int64_t num_elements() const { return shape_.num_elements(); }
  size_t size_bytes() const { return static_cast<size_t>(num_elements()) * size_of(dtype_); }
  bool writable() const { return writable_; }
  // Whether the first byte is aligned for the dtype. Files do not promise it; typed access needs it.
  bool aligned() const { return reinterpret_cast<uintptr_t>(data_) % size_of(dtype_) == 0; }

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
  // Shares rows [begin, begin + count) of the first dimension.
  Tensor slice(int64_t begin, int64_t count) const;
  // Own, writable, aligned bytes.
  Tensor clone(Allocator& allocator = system_allocator()) const;

 private:
  Shape shape_;
  DType dtype_ = DType::f32;
  bool writable_ = false;
  const std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace veneer
