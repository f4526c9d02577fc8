// A record's difference made a few rows at a time, so that a weight can be patched in one pass over memory.
#pragma once

#include <cstdint>
#include <span>

namespace veneer::patch {

// Made for one weight; add() may be called from several threads at once, for different rows.
class RowAdder {
 public:
  virtual ~RowAdder() = default;
  // rows += strength * difference for the weight's rows [first, first + count), f32, `rows.size()` = count * elements of a row. Gives the bits that
  // PatchValue::apply gives in f32.
  virtual void add(int64_t first, int64_t count, std::span<float> rows) const = 0;
};

}  // namespace veneer::patch
