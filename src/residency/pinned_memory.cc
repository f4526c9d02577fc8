#include "residency/pinned_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace veneer::residency {
namespace {

struct SystemLocker final : PinnedMemory::Locker {
  bool lock(const void* data, size_t size) override { return ::mlock(data, size) == 0; }
  void unlock(const void* data, size_t size) noexcept override { ::munlock(data, size); }
};

const void* pointer(uintptr_t address) {
  return reinterpret_cast<const void*>(address);  // NOLINT(performance-no-int-to-ptr): pages are counted as numbers
}

}  // namespace

PinnedMemory::PinnedMemory(size_t budget_bytes, std::unique_ptr<Locker> locker)
    : budget_bytes_(budget_bytes), locker_(locker ? std::move(locker) : std::make_unique<SystemLocker>()) {}

PinnedMemory::Pin::Pin(Pin&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), begin_(other.begin_) {}

PinnedMemory::Pin& PinnedMemory::Pin::operator=(Pin&& other) noexcept {
  if (this != &other) {
    reset();
    owner_ = std::exchange(other.owner_, nullptr);
    begin_ = other.begin_;
  }
  return *this;
}

void PinnedMemory::Pin::reset() noexcept {
  if (!owner_) return;
  owner_->unpin(begin_);
  owner_.reset();
}

PinnedMemory::Pin PinnedMemory::pin(std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(bytes.data());
  // Whole pages of these bytes only: a page at the border belongs to a neighbour as well, and locks do not count.
  const uintptr_t begin = (first + page - 1) / page * page;
  const uintptr_t end = (first + bytes.size()) / page * page;
  if (end <= begin) return {};
  const size_t size = end - begin;

  const std::lock_guard lock(mutex_);
  const auto known = ranges_.find(begin);
  if (known == ranges_.end()) {
    if (refused_ || size > budget_bytes_ || size_bytes_ > budget_bytes_ - size) return {};
    if (!locker_->lock(pointer(begin), size)) {
      // One refusal is enough: the limit is the process's, and each further try costs a page walk.
      refused_ = true;
      notice_ = "host pinned memory: the system refused to lock " + std::to_string(size) + " bytes after " + std::to_string(size_bytes_) + " (" +
                std::strerror(errno) + "); going on with pageable memory";
      return {};
    }
    ranges_.emplace(begin, Range{size, 0});
    size_bytes_ += size;
  }
  ++ranges_.at(begin).pins;
  Pin out;
  out.owner_ = shared_from_this();
  out.begin_ = begin;
  return out;
}

void PinnedMemory::unpin(uintptr_t begin) noexcept {
  const std::lock_guard lock(mutex_);
  const auto it = ranges_.find(begin);
  if (--it->second.pins > 0) return;
  locker_->unlock(pointer(begin), it->second.size);
  size_bytes_ -= it->second.size;
  ranges_.erase(it);
}

size_t PinnedMemory::size_bytes() const {
  const std::lock_guard lock(mutex_);
  return size_bytes_;
}

std::string PinnedMemory::notice() const {
  const std::lock_guard lock(mutex_);
  return notice_;
}

}  // namespace veneer::residency
