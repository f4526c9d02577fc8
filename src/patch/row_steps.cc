#include "patch/row_steps.h"

#include <utility>

#include "patch/blame.h"

namespace veneer::patch {

namespace {

void check_fit(const PatchValue& value, const Shape& shape) {
  try {
    value.check(shape);
  } catch (const Error& error) {
    throw with_origin(error, value);
  }
}

}  // namespace

std::optional<RowSteps> RowSteps::make(const Shape& shape, std::span<const PatchRecord> records, PatchCompat compat) {
  RowSteps out;
  for (const PatchRecord& record : records) {
    if (record.offset || record.function || !record.value || record.value->shape_after(shape) != shape) return std::nullopt;
    if (compat == PatchCompat::standard) check_fit(*record.value, shape);
    Step step;
    step.strength_model = static_cast<float>(record.strength_model);
    if (record.strength_patch != 0 || compat == PatchCompat::reference) {
      step.adder = record.value->row_adder(shape, record.strength_patch);
      if (!step.adder) return std::nullopt;
    }
    out.steps_.push_back(std::move(step));
  }
  return out;
}

void RowSteps::apply(const Tile& tile, const TileValues& values) const {
  for (const Step& step : steps_) {
    if (step.strength_model != 1) {
      for (int64_t r = 0; r < tile.rows; ++r) {
        for (float& v : values.row(r, tile.columns)) v *= step.strength_model;
      }
    }
    if (step.adder) step.adder->add(tile, values);
  }
}

}  // namespace veneer::patch
