#include "patch/stream_weight.h"

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "patch/patched_rows.h"
#include "tensor/convert.h"

namespace veneer::patch {
namespace {

// Elements of a block: its f32 values stay in L2 until they are written.
constexpr int64_t kBlock = int64_t{1} << 16;

}  // namespace

std::optional<Tensor> stream_weight(const Tensor& base, std::span<const PatchRecord> records, DType dtype, std::string_view key,
                                    const CalculateOptions& options) {
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return std::nullopt;
  const std::optional<PatchedRows> patched = PatchedRows::make(base, records, dtype, key, options);
  if (!patched) return std::nullopt;

  Tensor result = Tensor::empty(base.shape(), dtype, options.allocator != nullptr ? *options.allocator : system_allocator());
  const int64_t row_size = base.shape().num_elements_from(1);
  const int64_t block_rows = std::max<int64_t>(1, kBlock / row_size);
  const int64_t blocks = (base.dim(0) + block_rows - 1) / block_rows;
  parallel_for(static_cast<size_t>(blocks), 1, [&](size_t begin, size_t end) {
    std::vector<float> scratch(dtype == DType::f32 ? 0 : static_cast<size_t>(block_rows * row_size));
    for (auto block = static_cast<int64_t>(begin); block < static_cast<int64_t>(end); ++block) {
      const int64_t first = block * block_rows, count = std::min(block_rows, base.dim(0) - first);
      const auto at = static_cast<size_t>(first * row_size), size = static_cast<size_t>(count * row_size);
      const std::span<float> rows(dtype == DType::f32 ? result.mutable_data<float>() + at : scratch.data(), size);
      patched->tile({first, count, 0, row_size}, {rows.data(), row_size});
      if (dtype != DType::f32) copy_from_f32(rows, dtype, result.mutable_bytes() + at * size_of(dtype));
    }
  });
  return result;
}

}  // namespace veneer::patch
