// What can be held in the resident set: a ready-to-run form of some weights that knows its size.
#pragma once

#include <cstddef>

namespace veneer::residency {

// Immutable and usable from several threads; destroyed when it is evicted and the last lease on it is gone.
class Resident {
 public:
  virtual ~Resident() = default;
  // Bytes of memory that it holds now. May grow after first use (weights that are packed lazily), so the set asks again.
  virtual size_t size_bytes() const = 0;
};

}  // namespace veneer::residency
