#include "sampling/nchw.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

// [N, R, C] -> [N, C, R]
Tensor swap_last_two(const Tensor& in, int64_t n, int64_t rows, int64_t columns, const Shape& shape) {
  Tensor out = Tensor::empty(shape, DType::f32);
  const float* from = in.data<float>();
  float* to = out.mutable_data<float>();
  constexpr size_t kGrain = 1024;
  parallel_for(static_cast<size_t>(n * columns), std::max<size_t>(1, kGrain / static_cast<size_t>(std::max<int64_t>(rows, 1))),
               [&](size_t begin, size_t end) {
                 for (size_t k = begin; k < end; ++k) {
                   const int64_t image = static_cast<int64_t>(k) / columns;
                   const int64_t column = static_cast<int64_t>(k) % columns;
                   const float* source = from + image * rows * columns + column;
                   float* target = to + static_cast<int64_t>(k) * rows;
                   for (int64_t r = 0; r < rows; ++r) target[r] = source[r * columns];
                 }
               });
  return out;
}

}  // namespace

Tensor require_f32(const Tensor& tensor, int rank, std::string_view what) {
  if (!tensor.defined()) throw Error(ErrorCode::invalid, std::string(what) + ": tensor is missing");
  if (tensor.rank() != rank) {
    throw Error(ErrorCode::invalid, std::string(what) + ": tensor has another number of dimensions",
                {{"want", std::to_string(rank)}, {"shape", tensor.shape().to_string()}});
  }
  return to_dtype(tensor, DType::f32);
}

Tensor crop_planes(const Tensor& planes, const Box& box) {
  const int rank = planes.rank();
  if (rank < 2) throw Error(ErrorCode::invalid, "crop: tensor has no planes", {{"shape", planes.shape().to_string()}});
  const int64_t height = planes.dim(rank - 2);
  const int64_t width = planes.dim(rank - 1);
  if (box.y < 0 || box.x < 0 || box.height < 0 || box.width < 0 || box.height > height || box.width > width || box.y > height - box.height ||
      box.x > width - box.width) {
    throw Error(ErrorCode::invalid, "crop: box leaves the plane",
                {{"plane", planes.shape().to_string()},
                 {"y", std::to_string(box.y)},
                 {"x", std::to_string(box.x)},
                 {"height", std::to_string(box.height)},
                 {"width", std::to_string(box.width)}});
  }
  Tensor out = Tensor::empty(planes.shape().with(rank - 2, box.height).with(rank - 1, box.width), DType::f32);
  const int64_t count = height * width == 0 ? 0 : planes.num_elements() / (height * width);
  for (int64_t p = 0; p < count; ++p) {
    for (int64_t y = 0; y < box.height; ++y) {
      std::copy_n(planes.data<float>() + (p * height + box.y + y) * width + box.x, box.width,
                  out.mutable_data<float>() + (p * box.height + y) * box.width);
    }
  }
  return out;
}

Tensor repeat_to_batch(const Tensor& tensor, int64_t count) {
  if (tensor.rank() == 0 || tensor.dim(0) == 0) throw Error(ErrorCode::invalid, "batch: nothing to repeat", {{"shape", tensor.shape().to_string()}});
  if (tensor.dim(0) == count) return tensor;
  Tensor out = Tensor::empty(tensor.shape().with(0, count), tensor.dtype());
  const size_t row_bytes = tensor.size_bytes() / static_cast<size_t>(tensor.dim(0));
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out.mutable_bytes() + static_cast<size_t>(i) * row_bytes, tensor.bytes() + static_cast<size_t>(i % tensor.dim(0)) * row_bytes,
                row_bytes);
  }
  return out;
}

Tensor concat_batch(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() != a.rank() || b.shape().with(0, a.dim(0)) != a.shape()) {
    throw Error(ErrorCode::invalid, "batch: shapes do not fit together", {{"first", a.shape().to_string()}, {"second", b.shape().to_string()}});
  }
  Tensor out = Tensor::empty(a.shape().with(0, a.dim(0) + b.dim(0)), DType::f32);
  std::ranges::copy(a.floats(), out.mutable_data<float>());
  std::ranges::copy(b.floats(), out.mutable_data<float>() + a.num_elements());
  return out;
}

Tensor to_planes(const Tensor& pixels) {
  const Tensor in = require_f32(pixels, 4, "image");
  const Shape shape{in.dim(0), in.dim(3), in.dim(1), in.dim(2)};
  return swap_last_two(in, in.dim(0), in.dim(1) * in.dim(2), in.dim(3), shape);
}

Tensor to_pixels(const Tensor& planes) {
  const Tensor in = require_f32(planes, 4, "image");
  const Shape shape{in.dim(0), in.dim(2), in.dim(3), in.dim(1)};
  return swap_last_two(in, in.dim(0), in.dim(1), in.dim(2) * in.dim(3), shape);
}

int64_t round_half_even(double value) { return static_cast<int64_t>(std::nearbyint(value)); }

}  // namespace veneer::sampling
