#include "formats/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"

namespace veneer::formats {
namespace {

constexpr size_t kPiece = size_t{1} << 18;  // elements; whole blocks of every quantised dtype

bool is_wide(DType dtype) { return dtype == DType::f64 || dtype == DType::i64 || dtype == DType::i32 || dtype == DType::u64 || dtype == DType::u32; }

// Values as f64 where one side has more bits than f32.
template <typename Real>
void read(const Tensor& tensor, size_t begin, std::vector<Real>& out) {
  if constexpr (std::is_same_v<Real, float>) {
    copy_range_to_f32(tensor, begin, out);
  } else {
    if (!is_wide(tensor.dtype())) {
      std::vector<float> narrow(out.size());
      copy_range_to_f32(tensor, begin, narrow);
      std::copy(narrow.begin(), narrow.end(), out.begin());
      return;
    }
    const Tensor flat = tensor.reshape({tensor.num_elements()});
    const Tensor wide = to_dtype(flat.slice(static_cast<int64_t>(begin), static_cast<int64_t>(out.size())), DType::f64);
    std::copy_n(wide.data<double>(), out.size(), out.begin());
  }
}

template <typename Real>
TensorDifference compare(const std::vector<Real>& a, const std::vector<Real>& b) {
  TensorDifference out;
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double absolute = std::abs(x - y), relative = absolute / std::max(std::abs(x), std::abs(y));
    if (!std::isfinite(absolute)) absolute = relative = std::numeric_limits<double>::infinity();
    out.largest_absolute = std::max(out.largest_absolute, absolute);
    out.largest_relative = std::max(out.largest_relative, relative);
  }
  return out;
}

std::span<const std::byte> bytes_of(const Tensor& tensor, size_t begin, size_t count) {
  const BlockSize block = block_size(tensor.dtype());
  return tensor.byte_span().subspan(begin / block.elements * block.bytes, count / block.elements * block.bytes);
}

template <typename Real>
TensorDifference difference(const ModelFile& a_file, const Tensor& a, const ModelFile& b_file, const Tensor& b) {
  const auto total = static_cast<size_t>(a.num_elements());
  TensorDifference out;
  std::mutex mutex;
  parallel_for((total + kPiece - 1) / kPiece, 1, [&](size_t first, size_t last) {
    for (size_t piece = first; piece < last; ++piece) {
      const size_t begin = piece * kPiece, count = std::min(kPiece, total - begin);
      std::vector<Real> x(count), y(count);
      read(a, begin, x);
      read(b, begin, y);
      const TensorDifference part = compare(x, y);
      a_file.drop_pages(bytes_of(a, begin, count));
      b_file.drop_pages(bytes_of(b, begin, count));
      const std::lock_guard lock(mutex);
      out.largest_absolute = std::max(out.largest_absolute, part.largest_absolute);
      out.largest_relative = std::max(out.largest_relative, part.largest_relative);
    }
  });
  return out;
}

}  // namespace

TensorDifference tensor_difference(const ModelFile& a_file, const Tensor& a, const ModelFile& b_file, const Tensor& b) {
  if (is_wide(a.dtype()) || is_wide(b.dtype())) return difference<double>(a_file, a, b_file, b);
  return difference<float>(a_file, a, b_file, b);
}

}  // namespace veneer::formats
