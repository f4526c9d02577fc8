#include "patch/patched_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "patch/blame.h"
#include "patch/finite.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::patch {

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

void PatchedRows::rows(int64_t first, int64_t count, std::span<float> out) const {
  // A block's values stay in the second cache from one step to the next. Products take rows by fours.
  constexpr int64_t kBlock = int64_t{1} << 16, kRows = 8;
  const int64_t row_size = base_.shape().num_elements_from(1), fitting = std::max<int64_t>(1, kBlock / row_size);
  const int64_t most = fitting < kRows ? fitting : fitting / kRows * kRows;
  for (int64_t done = 0; done < count; done += most) {
    const int64_t now = std::min(most, count - done);
    make_block(first + done, now, out.subspan(static_cast<size_t>(done * row_size), static_cast<size_t>(now * row_size)));
  }
}

void PatchedRows::make_block(int64_t first, int64_t count, std::span<float> out) const {
  const auto at = static_cast<size_t>(first * base_.shape().num_elements_from(1));
  copy_range_to_f32(base_, at, out);
  if (base_scale_ != 1) {
    for (float& v : out) v *= base_scale_;
  }
  steps_.apply(first, count, out);
  if (!check_ || all_finite_in(out, stored_)) return;
  std::vector<float> plain(out.size());
  copy_range_to_f32(base_, at, plain);
  if (!all_finite_in(plain, DType::f32)) return;
  CalculateOptions options;
  options.base_scale = base_scale_;
  const std::lock_guard lock(blame_->mutex);
  if (!blame_->error) blame_->error = not_finite_error(base_, records_, stored_, key_, options);
  throw Error(*blame_->error);
}

}  // namespace veneer::patch
