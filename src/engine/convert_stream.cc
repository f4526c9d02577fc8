#include "engine/convert_stream.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"
#include "tensor/largest_magnitude.h"
#include "tensor/quantised_blocks.h"
#include "veneer/error.h"

namespace veneer::engine {
namespace {

constexpr size_t kPiece = size_t{1} << 20;       // elements; whole blocks of every quantised dtype
constexpr size_t kSmallPiece = size_t{1} << 17;  // of what costs little: converted, they are in the processor's memory until they are written
constexpr size_t kPieceBytes = size_t{1} << 19;  // of bytes that stay as they are
constexpr size_t kElementsPerTask = size_t{1} << 15;
constexpr size_t kElementsAtOnce = size_t{1} << 12;  // as f32, between a load and a store

std::span<const std::byte> bytes_of(const Tensor& tensor, size_t begin, size_t count) {
  const BlockSize block = block_size(tensor.dtype());
  return tensor.byte_span().subspan(begin / block.elements * block.bytes, count / block.elements * block.bytes);
}

// Lets the pages of a tensor go piece by piece. A page that two pieces share goes with the second.
class PageDropper {
 public:
  PageDropper(const formats::ModelFile& file, std::span<const std::byte> bytes) : file_(file), bytes_(bytes) {}
  // Bytes up to here are done with.
  void done(size_t end) {
    file_.drop_pages(bytes_.subspan(before_, end - before_));
    before_ = std::exchange(end_, end);
  }

 private:
  const formats::ModelFile& file_;
  std::span<const std::byte> bytes_;
  size_t before_ = 0, end_ = 0;
};

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
  const std::span<const std::byte> bytes = tensor.byte_span();
  PageDropper dropper(file, bytes);
  for (size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
    const auto piece = bytes.subspan(begin, std::min(kPieceBytes, bytes.size() - begin));
    put(piece);
    dropper.done(begin + piece.size());
  }
}

[[noreturn]] void fail_range(const std::string& name, DType dtype, float value) {
  throw Error(ErrorCode::invalid, "convert: value is beyond the range of the dtype",
              {{"tensor", name}, {"dtype", std::string(to_string(dtype))}, {"value", std::to_string(value)}});
}

// Refuses a finite value that the dtype rounds to infinity or NaN; of blocks any that is not finite, too.
void require_range(std::span<const float> values, DType dtype, const std::string& name) {
  if (dtype == DType::f32 || dtype == DType::f64) return;
  // Beyond these round_to gives no number; the exact border is asked only of what comes near it.
  const float near = dtype == DType::f8_e4m3fn ? 448.0F : dtype == DType::f8_e5m2 ? 57344.0F : dtype == DType::bf16 ? 3.3e38F : 65504.0F;
  if (veneer::largest_magnitude(values) <= near) return;
  for (const float value : values) {
    if (std::abs(value) <= near) continue;
    if (is_quantised(dtype) || (std::isfinite(value) && !std::isfinite(round_to(value, dtype)))) fail_range(name, dtype, value);
  }
}

// Elements [begin, begin + count) of the tensor, whole blocks of the target's.
void convert_part(const Tensor& tensor, size_t begin, size_t count, DType dtype, const std::string& name, std::byte* out) {
  std::array<float, kElementsAtOnce> buffer;
  const BlockSize block = block_size(dtype);
  for (size_t done = 0; done < count; done += kElementsAtOnce) {
    const std::span<float> values = std::span(buffer).first(std::min(kElementsAtOnce, count - done));
    copy_range_to_f32(tensor, begin + done, values);
    require_range(values, dtype, name);
    std::byte* const to = out + done / block.elements * block.bytes;
    if (is_quantised(dtype)) {
      quantise_blocks(dtype, values, to);
    } else {
      copy_from_f32(values, dtype, to);
    }
  }
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
  const BlockSize block = block_size(dtype);
  // Casts and q8_0 are faster than the disk on one thread; the others are still going on when it waits.
  const bool is_cheap = !is_quantised(dtype) || dtype == DType::q8_0;
  const size_t piece = is_cheap ? kSmallPiece : kPiece, task = is_cheap ? kSmallPiece : kElementsPerTask;
  const auto total = static_cast<size_t>(tensor.num_elements());
  std::vector<std::byte> bytes(storage_bytes(dtype, std::min(piece, total)));
  PageDropper dropper(file, tensor.byte_span());
  for (size_t begin = 0; begin < total; begin += piece) {
    const size_t count = std::min(piece, total - begin);
    parallel_for((count + task - 1) / task, 1, [&](size_t first, size_t last) {
      const size_t from = first * task, until = std::min(last * task, count);
      convert_part(tensor, begin + from, until - from, dtype, name, bytes.data() + from / block.elements * block.bytes);
    });
    put(std::span(bytes).first(storage_bytes(dtype, count)));
    dropper.done(storage_bytes(tensor.dtype(), begin + count));
  }
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
