// Memory of which a test can tell whether somebody has looked at it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <vector>

namespace veneer::residency::testing {

// Pages of zeros that nobody has touched.
class UntouchedPages {
 public:
  explicit UntouchedPages(size_t size_bytes) : size_(size_bytes) {
    begin_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // One touch must not bring its neighbours.
    if (ok()) ::madvise(begin_, size_, MADV_NOHUGEPAGE);
  }
  ~UntouchedPages() {
    if (ok()) ::munmap(begin_, size_);
  }
  UntouchedPages(const UntouchedPages&) = delete;
  UntouchedPages& operator=(const UntouchedPages&) = delete;

  bool ok() const { return begin_ != MAP_FAILED; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(begin_), size_}; }
  size_t num_pages() const { return (size_ + page() - 1) / page(); }
  // How many were touched.
  size_t num_touched() const {
    std::vector<unsigned char> resident(num_pages());
    if (::mincore(begin_, size_, resident.data()) != 0) return 0;
    size_t count = 0;
    for (const unsigned char flags : resident) count += flags & 1U;
    return count;
  }

 private:
  static size_t page() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }
  void* begin_;
  size_t size_;
};

}  // namespace veneer::residency::testing
