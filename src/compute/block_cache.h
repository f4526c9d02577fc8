// Memory for activations that is touched once and used again: no malloc, no page fault in the step loop.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/tensor.h"

namespace veneer::compute {

// An allocator that keeps returned blocks. Those below 1 MiB serve the next request of their size class (four classes per power of two, so at most a
// fifth is wasted). Larger ones lie side by side in huge pages where the system grants them, since first touches of small pages cost more than the
// arithmetic on them, and what comes back serves requests of every size: what is held stays near the most that was ever used at a time. Thread-safe.
// Blocks may outlive the cache; then they go back to the system when dropped.
class BlockCache final : public Allocator {
 public:
  BlockCache();
  ~BlockCache() override;
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Throws Error(no_memory) when the system refuses even after the cached blocks were given back.
  std::shared_ptr<std::byte> allocate(size_t size_bytes) override;

  // Gives every block that nobody uses back to the system.
  void trim();
  // Bytes handed out now; held in all, used or not; and the most ever held.
  size_t used_bytes() const;
  size_t held_bytes() const;
  size_t peak_bytes() const;

 private:
  struct Pool;
  std::shared_ptr<Pool> pool_;
};

}  // namespace veneer::compute
