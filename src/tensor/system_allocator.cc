// The allocator behind tensors that name none.
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/physical_memory.h"
#include "tensor/huge_arena.h"
#include "tensor/tensor.h"
#include "veneer/error.h"

namespace veneer {
namespace {

constexpr size_t kLine = 64;
// Below, malloc keeps what comes back well enough.
constexpr size_t kLarge = size_t{256} << 10;

// Sanitizers watch the borders of blocks of malloc alone.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kUseArena = false;
#else
constexpr bool kUseArena = true;
#endif

size_t round_up(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

class SystemAllocator final : public Allocator {
 public:
  std::shared_ptr<std::byte> allocate(size_t size_bytes) override {
    const size_t unit = size_bytes >= kLarge ? HugeArena::kUnit : kLine;
    if (size_bytes > SIZE_MAX - unit) throw no_memory(size_bytes);
    const size_t size = round_up(size_bytes, unit);
    std::byte* const block = obtain(size);
    if (block == nullptr) throw no_memory(size_bytes);
    return {block, [this, size](std::byte* p) { give_back(p, size); }};
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    arena_.cool(0);
  }

 private:
  std::byte* obtain(size_t size) {
    const std::lock_guard lock(mutex_);
    // Tensors together stay below the machine's memory: past it the system would end the process instead of refusing.
    if (size > most_bytes_ - used_bytes_) return nullptr;
    std::byte* block = size >= kLarge ? arena_.take(size) : nullptr;
    if (block == nullptr) block = static_cast<std::byte*>(std::aligned_alloc(size >= kLarge ? HugeArena::kUnit : kLine, size));
    if (block == nullptr) return nullptr;
    used_bytes_ += size;
    return block;
  }

  void give_back(std::byte* block, size_t size) noexcept {
    const std::lock_guard lock(mutex_);
    used_bytes_ -= size;
    if (!arena_.owns(block)) return std::free(block);
    arena_.give_back(block, size);
    arena_.cool(most_warm_);
  }

  Error no_memory(size_t size_bytes) const {
    return Error(ErrorCode::no_memory, "out of memory", {{"bytes", std::to_string(size_bytes)}, {"most in all", std::to_string(most_bytes_)}});
  }

  std::mutex mutex_;
  const size_t most_bytes_ = physical_memory_bytes() / 4 * 3;
  const size_t most_warm_ = physical_memory_bytes() / 32;
  size_t used_bytes_ = 0;
  HugeArena arena_{kUseArena ? round_up(physical_memory_bytes(), size_t{2} << 20) : 0};
};

SystemAllocator& allocator() {
  // Never destroyed: tensors in static objects may be freed after everything else.
  static auto* const kAllocator = new SystemAllocator();
  return *kAllocator;
}

}  // namespace

Allocator& system_allocator() { return allocator(); }

void release_idle_memory() { allocator().trim(); }

}  // namespace veneer
