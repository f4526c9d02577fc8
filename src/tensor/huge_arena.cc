#include "tensor/huge_arena.h"

#include <sys/mman.h>

#include <cstdint>
#include <iterator>
#include <new>

namespace veneer {

HugeArena::HugeArena(size_t reserve_bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  if (reserve_bytes == 0) return;
  // One page more, so that a whole number of huge pages lies inside.
  void* reserved = mmap(nullptr, reserve_bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return;
  auto* const first = static_cast<std::byte*>(reserved);
  begin_ = first + (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  end_ = begin_ + reserve_bytes;
  if (begin_ != first) munmap(first, static_cast<size_t>(begin_ - first));
  if (const size_t rest = static_cast<size_t>(first + reserve_bytes + kHugePage - end_); rest != 0) munmap(end_, rest);
  // Refusal is harmless.
  (void)madvise(begin_, reserve_bytes, MADV_HUGEPAGE);
  insert(begin_, {reserve_bytes, false});
}

HugeArena::~HugeArena() {
  if (begin_ != nullptr) munmap(begin_, static_cast<size_t>(end_ - begin_));
}

std::byte* HugeArena::take(size_t size_bytes) {
  Ranges::iterator range = best(true, size_bytes);
  if (range == free_.end()) range = best(false, size_bytes);
  return range == free_.end() ? nullptr : cut(range, size_bytes);
}

void HugeArena::give_back(std::byte* block, size_t size_bytes) noexcept {
  try {
    insert(block, {size_bytes, true});
  } catch (const std::bad_alloc&) {
    (void)madvise(block, size_bytes, MADV_DONTNEED);
  }
}

void HugeArena::cool(size_t most_warm_bytes) noexcept {
  while (warm_bytes_ > most_warm_bytes) {
    const auto range = free_.find(std::prev(sizes_[1].end())->second);
    std::byte* const begin = range->first;
    const size_t size = range->second.size;
    erase(range);
    (void)madvise(begin, size, MADV_DONTNEED);
    try {
      insert(begin, {size, false});
    } catch (const std::bad_alloc&) {
      // Only addresses are lost.
    }
  }
}

HugeArena::Ranges::iterator HugeArena::best(bool warm, size_t size) {
  auto& sizes = sizes_[warm ? 1 : 0];
  const auto found = sizes.lower_bound({size, nullptr});
  return found == sizes.end() ? free_.end() : free_.find(found->second);
}

std::byte* HugeArena::cut(Ranges::iterator range, size_t size) {
  std::byte* const begin = range->first;
  const Range whole = range->second;
  // The rest first: if there is no memory for it, nothing has changed.
  if (whole.size > size) {
    const auto rest = free_.emplace(begin + size, Range{whole.size - size, whole.warm}).first;
    try {
      sizes_[whole.warm ? 1 : 0].emplace(whole.size - size, begin + size);
    } catch (const std::bad_alloc&) {
      free_.erase(rest);
      throw;
    }
    if (whole.warm) warm_bytes_ += whole.size - size;
  }
  erase(range);
  return begin;
}

HugeArena::Ranges::iterator HugeArena::erase(Ranges::iterator range) {
  sizes_[range->second.warm ? 1 : 0].erase({range->second.size, range->first});
  if (range->second.warm) warm_bytes_ -= range->second.size;
  return free_.erase(range);
}

void HugeArena::insert(std::byte* begin, Range range) {
  const auto next = free_.lower_bound(begin);
  if (next != free_.end() && next->first == begin + range.size && next->second.warm == range.warm) {
    range.size += next->second.size;
    erase(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second.size == begin && before->second.warm == range.warm) {
      begin = before->first;
      range.size += before->second.size;
      erase(before);
    }
  }
  const auto place = free_.emplace(begin, range).first;
  try {
    sizes_[range.warm ? 1 : 0].emplace(range.size, begin);
  } catch (const std::bad_alloc&) {
    free_.erase(place);
    throw;
  }
  if (range.warm) warm_bytes_ += range.size;
}

}  // namespace veneer
