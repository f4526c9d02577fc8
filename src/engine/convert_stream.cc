#include "engine/convert_stream.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

constexpr size_t kPiece = size_t{1} << 20;       // elements; whole blocks of every quantised dtype
constexpr size_t kPieceBytes = size_t{4} << 20;  // of bytes that stay as they are
constexpr size_t kElementsPerTask = size_t{1} << 15;

std::span<const std::byte> bytes_of(const Tensor& tensor, size_t begin, size_t count) {
  const BlockSize block = block_size(tensor.dtype());
  return tensor.byte_span().subspan(begin / block.elements * block.bytes, count / block.elements * block.bytes);
}

// Calls use(values) for one piece after another.
template <typename Use>
void for_each_piece(const formats::ModelFile& file, const Tensor& tensor, Use use) {
  const auto total = static_cast<size_t>(tensor.num_elements());
  std::vector<float> values(std::min(kPiece, total));
  for (size_t begin = 0; begin < total; begin += kPiece) {
    const std::span<float> piece = std::span(values).first(std::min(kPiece, total - begin));
    parallel_for(piece.size(), size_t{1} << 16,
                 [&](size_t first, size_t last) { copy_range_to_f32(tensor, begin + first, piece.subspan(first, last - first)); });
    use(piece);
    file.drop_pages(bytes_of(tensor, begin, piece.size()));
  }
}

void put_as_they_are(const formats::ModelFile& file, const Tensor& tensor, const formats::PutBytes& put) {
  for (std::span<const std::byte> rest = tensor.byte_span(); !rest.empty();) {
    const auto piece = rest.first(std::min(kPieceBytes, rest.size()));
    put(piece);
    file.drop_pages(piece);
    rest = rest.subspan(piece.size());
  }
}

[[noreturn]] void fail_range(const std::string& name, DType dtype, float value) {
  throw Error(ErrorCode::invalid, "convert: value is beyond the range of the dtype",
              {{"tensor", name}, {"dtype", std::string(to_string(dtype))}, {"value", std::to_string(value)}});
}

// A finite value that the dtype rounds to infinity or NaN.
void require_range(std::span<const float> values, DType dtype, const std::string& name) {
  if (dtype == DType::f32 || dtype == DType::f64) return;
  // Beyond these round_to gives no number; the exact border is asked only of what comes near it.
  const float near = dtype == DType::f8_e4m3fn ? 448.0F : dtype == DType::f8_e5m2 ? 57344.0F : dtype == DType::bf16 ? 3.3e38F : 65504.0F;
  for (const float value : values) {
    if (std::abs(value) <= near || !std::isfinite(value)) continue;
    if (is_quantised(dtype) || !std::isfinite(round_to(value, dtype))) fail_range(name, dtype, value);
  }
}

void put_quantised(std::span<const float> values, DType dtype, std::vector<std::byte>& bytes) {
  const BlockSize block = block_size(dtype);
  bytes.resize(values.size() / block.elements * block.bytes);
  parallel_for(values.size() / block.elements, kElementsPerTask / block.elements, [&](size_t first, size_t last) {
    quantise_blocks(dtype, values.subspan(first * block.elements, (last - first) * block.elements), bytes.data() + first * block.bytes);
  });
}

void require_finite(std::span<const float> values, DType dtype, const std::string& name) {
  const auto found = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (found != values.end()) fail_range(name, dtype, *found);
}

}  // namespace

void stream_as(const formats::ModelFile& file, const Tensor& tensor, DType dtype, const std::string& name, const formats::PutBytes& put) {
  if (tensor.dtype() == dtype && tensor.scale() == 1) return put_as_they_are(file, tensor, put);
  if (!is_floating(tensor.dtype())) {
    throw Error(ErrorCode::unsupported, "convert: whole numbers keep their dtype",
                {{"tensor", name}, {"dtype", std::string(to_string(tensor.dtype()))}});
  }
  std::vector<std::byte> bytes;
  for_each_piece(file, tensor, [&](std::span<const float> values) {
    require_range(values, dtype, name);
    if (is_quantised(dtype)) {
      require_finite(values, dtype, name);
      put_quantised(values, dtype, bytes);
    } else {
      bytes.resize(values.size() * size_of(dtype));
      copy_from_f32(values, dtype, bytes.data());
    }
    put(bytes);
  });
}

float largest_magnitude(const formats::ModelFile& file, const Tensor& tensor) {
  float largest = 0;
  for_each_piece(file, tensor, [&](std::span<const float> values) {
    for (const float value : values) largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : largest;
  });
  return largest;
}

void stream_scaled_fp8(const formats::ModelFile& file, const Tensor& tensor, float scale, const std::string& name, const formats::PutBytes& put) {
  constexpr float kLargest = 448;
  std::vector<float> scaled;
  std::vector<std::byte> bytes;
  for_each_piece(file, tensor, [&](std::span<const float> values) {
    require_finite(values, DType::f8_e4m3fn, name);
    scaled.resize(values.size());
    // The largest one may round a little over the top.
    std::ranges::transform(values, scaled.begin(), [&](float value) { return std::clamp(value / scale, -kLargest, kLargest); });
    bytes.resize(values.size());
    copy_from_f32(scaled, DType::f8_e4m3fn, bytes.data());
    put(bytes);
  });
}

}  // namespace veneer::engine
