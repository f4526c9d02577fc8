#include "compute/im2col.h"

#include <cstring>

#include "base/parallel.h"
#include "compute/op_span.h"

namespace veneer::compute {

Tensor im2col(Context& context, const Tensor& x, int64_t kernel_height, int64_t kernel_width, const ConvGeometry& geometry, int64_t height,
              int64_t width) {
  const ProfileSpan span = moving_span(context, "im2col", x, 1.0 + static_cast<double>(kernel_height * kernel_width));
  const int64_t in_height = x.dim(1), in_width = x.dim(2), rows = x.dim(0) * height * width;
  const size_t pixel = static_cast<size_t>(x.dim(3)) * size_of(x.dtype());
  Tensor y = Tensor::empty({rows, kernel_height * kernel_width * x.dim(3)}, x.dtype(), context.scratch);
  const size_t row_bytes = y.size_bytes() / static_cast<size_t>(rows);
  parallel_for(static_cast<size_t>(rows), 1 + 65536 / row_bytes, [&](size_t begin, size_t end) {
    std::byte* to = y.mutable_bytes() + begin * row_bytes;
    for (size_t row = begin; row < end; ++row) {
      const int64_t index = static_cast<int64_t>(row), image = index / (height * width);
      const int64_t top = index / width % height * geometry.stride - geometry.pad_top, left = index % width * geometry.stride - geometry.pad_left;
      for (int64_t tap = 0; tap < kernel_height * kernel_width; ++tap, to += pixel) {
        const int64_t line = top + tap / kernel_width, column = left + tap % kernel_width;
        if (line < 0 || line >= in_height || column < 0 || column >= in_width) {
          std::memset(to, 0, pixel);
        } else {
          std::memcpy(to, x.bytes() + static_cast<size_t>((image * in_height + line) * in_width + column) * pixel, pixel);
        }
      }
    }
  });
  return y;
}

}  // namespace veneer::compute
