#include "compute/block_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/physical_memory.h"
#include "tensor/huge_arena.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

constexpr size_t kLine = 64;
constexpr size_t kHugePage = size_t{2} << 20;
// Blocks of this size and more come from the arena.
constexpr size_t kLarge = size_t{1} << 20;
// Half of what a process can address: no request beyond can succeed.
constexpr size_t kMostBytes = size_t{1} << 46;

// Sanitizers watch the borders of blocks of malloc alone.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kUseArena = false;
#else
constexpr bool kUseArena = true;
#endif

// The size of the class that `size_bytes` falls into; 0 when there is none that large.
size_t class_of(size_t size_bytes) {
  const size_t least = std::max(size_bytes, size_t{256});
  if (least > kMostBytes) return 0;
  const size_t unit = std::max(kLine, std::bit_floor(least) / 4);
  const size_t rounded = (least + unit - 1) / unit * unit;
  return rounded < kHugePage ? rounded : (rounded + kHugePage - 1) / kHugePage * kHugePage;
}

}  // namespace

// Small blocks are kept by size class. Large ones are cut from one range of addresses and become one again with their neighbours, so that a network
// finds the memory that another one has used for tensors of other sizes. Invariant: held == used + bytes of all free blocks.
struct BlockCache::Pool {
  mutable std::mutex mutex;
  std::map<size_t, std::vector<std::byte*>> free;  // by class
  HugeArena arena{kUseArena ? physical_memory_bytes() / kHugePage * kHugePage : 0};
  size_t used = 0, apart = 0 /* held outside of the arena */, in_arena = 0 /* used of it */, peak = 0;
  bool closed = false;

  size_t held() const { return apart + in_arena + arena.warm_bytes(); }

  // Null where the arena has no room.
  std::byte* take_large(size_t size) noexcept {
    const std::lock_guard lock(mutex);
    try {
      std::byte* block = arena.take(size);
      if (block == nullptr) return nullptr;
      used += size;
      in_arena += size;
      peak = std::max(peak, held());
      return block;
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
  }

  std::byte* take(size_t size) {
    const std::lock_guard lock(mutex);
    const auto found = free.find(size);
    if (found == free.end() || found->second.empty()) return nullptr;
    std::byte* block = found->second.back();
    found->second.pop_back();
    used += size;
    return block;
  }

  void add(size_t size) {
    const std::lock_guard lock(mutex);
    used += size;
    apart += size;
    peak = std::max(peak, held());
  }

  // Never throws: a block for which the list cannot grow goes back to the system.
  void give_back(std::byte* block, size_t size) noexcept {
    const std::lock_guard lock(mutex);
    used -= size;
    if (arena.owns(block)) {
      in_arena -= size;
      arena.give_back(block, size);
      if (closed) arena.cool(0);
      return;
    }
    if (!closed) {
      try {
        free[size].push_back(block);
        return;
      } catch (const std::bad_alloc&) {
        // falls through
      }
    }
    apart -= size;
    std::free(block);
  }

  void trim() noexcept {
    const std::lock_guard lock(mutex);
    arena.cool(0);
    for (auto& [size, blocks] : free) {
      for (std::byte* block : blocks) {
        std::free(block);
        apart -= size;
      }
    }
    free.clear();
  }
};

BlockCache::BlockCache() : pool_(std::make_shared<Pool>()) {}

BlockCache::~BlockCache() {
  {
    const std::lock_guard lock(pool_->mutex);
    pool_->closed = true;
  }
  pool_->trim();
}

std::shared_ptr<std::byte> BlockCache::allocate(size_t size_bytes) {
  size_t size = class_of(size_bytes);
  std::byte* block = nullptr;
  if (size_bytes >= kLarge && size != 0) {
    const size_t exact = (size_bytes + HugeArena::kUnit - 1) / HugeArena::kUnit * HugeArena::kUnit;
    block = pool_->take_large(exact);
    if (block != nullptr) size = exact;
  }
  if (block == nullptr && size != 0) block = pool_->take(size);
  if (block == nullptr && size != 0) {
    const size_t alignment = size >= kHugePage ? kHugePage : kLine;
    void* fresh = std::aligned_alloc(alignment, size);
    if (fresh == nullptr) {
      trim();
      fresh = std::aligned_alloc(alignment, size);
    }
    // Refusal of huge pages is harmless.
    if (fresh != nullptr && alignment == kHugePage) (void)madvise(fresh, size, MADV_HUGEPAGE);
    if (fresh != nullptr) pool_->add(size);
    block = static_cast<std::byte*>(fresh);
  }
  if (block == nullptr) throw Error(ErrorCode::no_memory, "out of memory", {{"bytes", std::to_string(size_bytes)}});
  return {block, [pool = pool_, size](std::byte* p) { pool->give_back(p, size); }};
}

void BlockCache::trim() { pool_->trim(); }

size_t BlockCache::used_bytes() const {
  const std::lock_guard lock(pool_->mutex);
  return pool_->used;
}

size_t BlockCache::held_bytes() const {
  const std::lock_guard lock(pool_->mutex);
  return pool_->held();
}

size_t BlockCache::peak_bytes() const {
  const std::lock_guard lock(pool_->mutex);
  return pool_->peak;
}

}  // namespace veneer::compute
