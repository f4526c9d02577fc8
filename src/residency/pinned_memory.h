// Pages of host memory that the system must not take away (mlock), under a byte budget.
//
// Pinning only makes later reads faster. Where the system refuses (RLIMIT_MEMLOCK, too little memory), the pages stay ordinary ones and the account
// says so; nothing fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace veneer::residency {

// All members may be called from any thread.
class PinnedMemory : public std::enable_shared_from_this<PinnedMemory> {
 public:
  // Locks and unlocks whole pages; false (with errno set) when the system refuses.
  struct Locker {
    virtual ~Locker() = default;
    virtual bool lock(const void* data, size_t size) = 0;
    virtual void unlock(const void* data, size_t size) noexcept = 0;
  };

  // `locker`: null for mlock and munlock.
  explicit PinnedMemory(size_t budget_bytes, std::unique_ptr<Locker> locker = nullptr);
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Unpins when destroyed. Move-only.
  class Pin {
   public:
    Pin() = default;
    ~Pin() { reset(); }
    Pin(Pin&& other) noexcept;
    Pin& operator=(Pin&& other) noexcept;
    void reset() noexcept;
    explicit operator bool() const { return owner_ != nullptr; }

   private:
    friend class PinnedMemory;
    std::shared_ptr<PinnedMemory> owner_;
    uintptr_t begin_ = 0;
  };

  // The pages that lie wholly in `bytes`. An empty pin when there are none, the budget is used up or the system refuses. Pinning the same bytes again
  // shares the pin. The bytes have to stay mapped for the life of the pin.
  Pin pin(std::span<const std::byte> bytes);

  size_t budget_bytes() const { return budget_bytes_; }
  size_t size_bytes() const;
  // Empty, or one sentence that names host pinned memory and why the system refused it.
  std::string notice() const;

 private:
  struct Range {
    size_t size = 0;
    size_t pins = 0;
  };
  void unpin(uintptr_t begin) noexcept;

  const size_t budget_bytes_;
  const std::unique_ptr<Locker> locker_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
  size_t size_bytes_ = 0;
  std::string notice_;
  bool refused_ = false;
};

}  // namespace veneer::residency
