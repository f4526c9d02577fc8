#include "patch/stream_weight.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "patch/finite.h"
#include "patch/row_adder.h"
#include "tensor/convert.h"

namespace veneer::patch {
namespace {

// Elements of a block: its f32 values and a difference stay in L2.
constexpr int64_t kBlock = int64_t{1} << 16;

struct Step {
  float strength_model = 1;
  std::unique_ptr<RowAdder> adder;  // null: strength 0
};

std::optional<std::vector<Step>> steps_of(const Shape& shape, std::span<const PatchRecord> records, const CalculateOptions& options) {
  std::vector<Step> steps;
  for (const PatchRecord& record : records) {
    if (record.offset || record.function || !record.value || record.value->shape_after(shape) != shape) return std::nullopt;
    if (options.compat == PatchCompat::standard) record.value->check(shape);
    Step step;
    step.strength_model = static_cast<float>(record.strength_model);
    if (record.strength_patch != 0 || options.compat == PatchCompat::reference) {
      step.adder = record.value->row_adder(shape, record.strength_patch);
      if (!step.adder) return std::nullopt;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::optional<Tensor> stream_weight(const Tensor& base, std::span<const PatchRecord> records, DType dtype, const CalculateOptions& options) {
  const bool plain_result = dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
  if (options.working != DType::f32 || !plain_result || base.rank() == 0 || base.num_elements() == 0) return std::nullopt;
  const auto steps = steps_of(base.shape(), records, options);
  if (!steps) return std::nullopt;

  Tensor result = Tensor::empty(base.shape(), dtype, options.allocator != nullptr ? *options.allocator : system_allocator());
  const int64_t row_size = base.shape().num_elements_from(1);
  const int64_t block_rows = std::max<int64_t>(1, kBlock / row_size);
  const int64_t blocks = (base.dim(0) + block_rows - 1) / block_rows;
  std::atomic<bool> finite{true};
  parallel_for(static_cast<size_t>(blocks), 1, [&](size_t begin, size_t end) {
    std::vector<float> scratch(dtype == DType::f32 ? 0 : static_cast<size_t>(block_rows * row_size));
    for (auto block = static_cast<int64_t>(begin); block < static_cast<int64_t>(end); ++block) {
      const int64_t first = block * block_rows, count = std::min(block_rows, base.dim(0) - first);
      const auto at = static_cast<size_t>(first * row_size), size = static_cast<size_t>(count * row_size);
      const std::span<float> rows(dtype == DType::f32 ? result.mutable_data<float>() + at : scratch.data(), size);
      copy_to_f32(base.slice(first, count), rows);
      if (options.base_scale != 1) {
        for (float& v : rows) v *= options.base_scale;
      }
      for (const Step& step : *steps) {
        if (step.strength_model != 1) {
          for (float& v : rows) v *= step.strength_model;
        }
        if (step.adder) step.adder->add(first, count, rows);
      }
      if (options.compat == PatchCompat::standard && !all_finite_in(rows, dtype)) finite = false;
      if (dtype != DType::f32) copy_from_f32(rows, dtype, result.mutable_bytes() + at * size_of(dtype));
    }
  });
  if (!finite) throw_unless_base_is_broken(base);
  return result;
}

}  // namespace veneer::patch
