// Reads memory-mapped weights ahead of their use.
#pragma once

#include <cstddef>
#include <span>

namespace veneer::residency {

// Looks at each page of `bytes`, so that those of a mapped file that are not in memory are read from it now, on the calling thread. `bytes` has to be
// readable; nothing is kept or locked.
void page_in(std::span<const std::byte> bytes) noexcept;

}  // namespace veneer::residency
