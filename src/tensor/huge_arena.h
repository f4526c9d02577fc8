// A range of addresses in huge pages, from which large blocks are cut and to which they return.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace veneer {

// Memory that the machine has written before is "warm": a block cut from it costs nothing, while the first touch of fresh memory runs at a tenth to a
// hundredth of the copy rate on virtual machines. Blocks are therefore cut from warm ranges first, and neighbours that come back become one range.
// Not thread-safe.
class HugeArena {
 public:
  // Reserves addresses, no memory. reserve_bytes: a multiple of 2 MiB. A system that refuses leaves an arena that has no room.
  explicit HugeArena(size_t reserve_bytes);
  ~HugeArena();
  HugeArena(const HugeArena&) = delete;
  HugeArena& operator=(const HugeArena&) = delete;

  // size_bytes: a multiple of kUnit. Aligned to kUnit. Null where no range is long enough; throws std::bad_alloc where the lists cannot grow.
  std::byte* take(size_t size_bytes);
  // A block of `take`, with its size. Where the lists cannot grow, its memory goes to the system and its addresses are lost.
  void give_back(std::byte* block, size_t size_bytes) noexcept;

  bool owns(const std::byte* block) const { return block >= begin_ && block < end_; }
  // Of warm ranges that nobody uses.
  size_t warm_bytes() const { return warm_bytes_; }
  // Gives warm ranges back to the system, longest first, until at most that many bytes are left.
  void cool(size_t most_warm_bytes) noexcept;

  static constexpr size_t kUnit = 4096;

 private:
  struct Range {
    size_t size = 0;
    bool warm = false;
  };
  using Ranges = std::map<std::byte*, Range>;

  void insert(std::byte* begin, Range range);
  Ranges::iterator erase(Ranges::iterator range);
  // The first `size` bytes of the range.
  std::byte* cut(Ranges::iterator range, size_t size);
  Ranges::iterator best(bool warm, size_t size);

  std::byte *begin_ = nullptr, *end_ = nullptr;
  Ranges free_;                                       // by address; neighbours differ in `warm`
  std::set<std::pair<size_t, std::byte*>> sizes_[2];  // the same, by size: cold, warm
  size_t warm_bytes_ = 0;
};

}  // namespace veneer
