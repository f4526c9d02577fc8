// Records on a weight as steps that work a tile at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "patch/patch_compat.h"
#include "patch/patch_record.h"
#include "patch/row_adder.h"

namespace veneer::patch {

// Made for one weight; apply() may be called from several threads at once, for different tiles.
class RowSteps {
 public:
  // nullopt when a record needs the whole weight: an offset, a function, another shape, a kind that has no RowAdder. PatchCompat::standard: throws
  // Error(invalid) for a value that does not fit.
  static std::optional<RowSteps> make(const Shape& shape, std::span<const PatchRecord> records, PatchCompat compat);

  // `values`: the weight's tile in f32, changed in place. Gives the bits that applying the records to the whole weight gives.
  void apply(const Tile& tile, const TileValues& values) const;

 private:
  struct Step {
    float strength_model = 1;
    std::unique_ptr<RowAdder> adder;  // null: strength 0
  };
  std::vector<Step> steps_;
};

}  // namespace veneer::patch
