#include "tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "base/physical_memory.h"
#include "veneer/error.h"

namespace veneer {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;

class SystemAllocator final : public Allocator {
 public:
  std::shared_ptr<std::byte> allocate(size_t size_bytes) override {
    const size_t alignment = size_bytes >= kHugePage ? kHugePage : kLine;
    if (size_bytes > SIZE_MAX - alignment) throw no_memory(size_bytes);
    const size_t rounded = (size_bytes + alignment - 1) / alignment * alignment;
    // Tensors together stay below the machine's memory: past it the system would end the process instead of refusing.
    Reservation reservation(used_bytes_, rounded);
    if (reservation.total > most_bytes_) throw no_memory(size_bytes);
    void* block = std::aligned_alloc(alignment, rounded);
    if (block == nullptr) throw no_memory(size_bytes);
    // A first touch of 4 KB pages costs more than the work on them on virtual machines; refusal is harmless.
    if (alignment == kHugePage) (void)madvise(block, rounded, MADV_HUGEPAGE);
    reservation.keep();
    return {static_cast<std::byte*>(block), [this, rounded](std::byte* p) {
              std::free(p);
              used_bytes_ -= rounded;
            }};
  }

 private:
  // Counts bytes while they are asked for, and takes them back unless they are kept.
  struct Reservation {
    Reservation(std::atomic<size_t>& counter, size_t count) : used(counter), bytes(count), total(counter += count) {}
    ~Reservation() {
      if (!kept) used -= bytes;
    }
    Reservation(const Reservation&) = delete;
    Reservation& operator=(const Reservation&) = delete;
    void keep() { kept = true; }
    std::atomic<size_t>& used;
    size_t bytes;
    size_t total;
    bool kept = false;
  };

  Error no_memory(size_t size_bytes) const {
    return Error(ErrorCode::no_memory, "out of memory", {{"bytes", std::to_string(size_bytes)}, {"most in all", std::to_string(most_bytes_)}});
  }

  // Three quarters of the machine's memory.
  static size_t default_limit() { return physical_memory_bytes() / 4 * 3; }

  std::atomic<size_t> used_bytes_{0};
  const size_t most_bytes_ = default_limit();
};

}  // namespace

Allocator& system_allocator() {
  // Never destroyed: tensors in static objects may be freed after everything else.
  static auto* const kAllocator = new SystemAllocator();
  return *kAllocator;
}

Tensor Tensor::empty(const Shape& shape, DType dtype, Allocator& allocator) {
  const uint64_t size = checked_mul(static_cast<uint64_t>(shape.num_elements()), size_of(dtype), "tensor");
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
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.dtype_ = dtype;
  tensor.data_ = static_cast<const std::byte*>(data);
  tensor.owner_ = std::move(owner);
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
  Tensor tensor = *this;
  tensor.shape_ = shape_.with(0, count);
  tensor.data_ = data_ + static_cast<size_t>(begin * shape_.num_elements_from(1)) * size_of(dtype_);
  return tensor;
}

Tensor Tensor::clone(Allocator& allocator) const {
  Tensor tensor = empty(shape_, dtype_, allocator);
  std::memcpy(tensor.mutable_bytes(), data_, size_bytes());
  return tensor;
}

}  // namespace veneer
