// A record's difference made a tile at a time, so that a weight can be patched in one pass over memory.
#pragma once

#include "tensor/tile.h"

namespace veneer::patch {

// Made for one weight; add() may be called from several threads at once, for different tiles.
class RowAdder {
 public:
  virtual ~RowAdder() = default;
  // values += strength * difference for a tile of the weight, f32. Gives the bits that PatchValue::apply gives in f32.
  virtual void add(const Tile& tile, const TileValues& values) const = 0;
};

}  // namespace veneer::patch
