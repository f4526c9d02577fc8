// Records on a weight as steps that work a few rows at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "patch/patch_compat.h"
#include "patch/patch_record.h"
#include "patch/row_adder.h"

namespace veneer::patch {

// Made for one weight; apply() may be called from several threads at once, for different rows.
class RowSteps {
 public:
  // nullopt when a record needs the whole weight: an offset, a function, another shape, a kind that has no RowAdder. PatchCompat::standard: throws
  // Error(invalid) for a value that does not fit.
  static std::optional<RowSteps> make(const Shape& shape, std::span<const PatchRecord> records, PatchCompat compat);

  // `rows`: the weight's rows [first, first + count) in f32, changed in place. Gives the bits that applying the records to the whole weight gives.
  void apply(int64_t first, int64_t count, std::span<float> rows) const;

 private:
  struct Step {
    float strength_model = 1;
    std::unique_ptr<RowAdder> adder;  // null: strength 0
  };
  std::vector<Step> steps_;
};

}  // namespace veneer::patch
