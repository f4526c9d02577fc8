#include "patch/patched_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "patch/blame.h"
#include "patch/finite.h"
#include "tensor/largest_magnitude.h"
#include "veneer/error.h"

namespace veneer::patch {
namespace {

bool is_finite_piece(const Tile& piece, const TileValues& values, DType dtype) {
  return is_finite_in(
      largest_magnitude(values.data, static_cast<size_t>(values.stride), static_cast<size_t>(piece.rows), static_cast<size_t>(piece.columns)), dtype);
}

}  // namespace

std::optional<PatchedRows> PatchedRows::make(const Tensor& base, std::span<const PatchRecord> records, DType stored, std::string_view key,
                                             const CalculateOptions& options) {
  if (options.working != DType::f32 || base.rank() == 0 || base.num_elements() == 0) return std::nullopt;
  try {
    for (const PatchRecord& record : records) check_record(record);
    std::optional<RowSteps> steps = RowSteps::make(base.shape(), records, options.compat);
    if (!steps) return std::nullopt;
    return PatchedRows(base, records, std::move(*steps), stored, key, options);
  } catch (const Error& error) {
    throw error.find("key").empty() && !key.empty() ? error.with("key", std::string(key)) : error;
  }
}

PatchedRows::PatchedRows(Tensor base, std::span<const PatchRecord> records, RowSteps steps, DType stored, std::string_view key,
                         const CalculateOptions& options)
    : base_(std::move(base)),
      records_(records.begin(), records.end()),
      steps_(std::move(steps)),
      stored_(stored),
      key_(key),
      base_scale_(options.base_scale),
      check_(options.compat == PatchCompat::standard && options.check_finite) {}

void PatchedRows::tile(const Tile& tile, const TileValues& out) const {
  // A piece's values stay in the caches from one step to the next. Products take rows by fours.
  constexpr int64_t kRows = 64, kColumns = 256;
  for (int64_t row = 0; row < tile.rows; row += kRows) {
    for (int64_t column = 0; column < tile.columns; column += kColumns) {
      const Tile piece{tile.first_row + row, std::min(kRows, tile.rows - row), tile.first_column + column, std::min(kColumns, tile.columns - column)};
      make_piece(piece, {out.data + row * out.stride + column, out.stride});
    }
  }
}

void PatchedRows::make_piece(const Tile& piece, const TileValues& out) const {
  copy_to_f32(base_, piece, out);
  // Most likely the next piece; rows lie too far from each other for the machine to guess it.
  prefetch(base_, {piece.first_row, piece.rows, piece.first_column + piece.columns, piece.columns});
  if (base_scale_ != 1) {
    for (int64_t r = 0; r < piece.rows; ++r) {
      for (float& v : out.row(r, piece.columns)) v *= base_scale_;
    }
  }
  steps_.apply(piece, out);
  if (!check_ || is_finite_piece(piece, out, stored_)) return;
  std::vector<float> plain(static_cast<size_t>(piece.rows * piece.columns));
  const TileValues plain_values{plain.data(), piece.columns};
  copy_to_f32(base_, piece, plain_values);
  if (!is_finite_piece(piece, plain_values, DType::f32)) return;
  CalculateOptions options;
  options.base_scale = base_scale_;
  const std::lock_guard lock(blame_->mutex);
  if (!blame_->error) blame_->error = not_finite_error(base_, records_, stored_, key_, options);
  throw Error(*blame_->error);
}

}  // namespace veneer::patch
