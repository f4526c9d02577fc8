// Ops that move elements and compute nothing but a factor.
#include <algorithm>
#include <cstring>
#include <string>

#include "base/parallel.h"
#include "compute/check.h"
#include "compute/op_span.h"
#include "compute/ops.h"
#include "tensor/convert.h"

namespace veneer::compute {
namespace {

size_t as_size(int64_t value) { return static_cast<size_t>(value); }

// to[p * channels + c] = factor * from[c * pixels + p] or the other way round, over pixels [begin, end) of one image.
void interleave(const float* from, size_t pixels, size_t channels, size_t begin, size_t end, float factor, float* to) {
  constexpr size_t kTile = 64;  // pixels of one channel that are read in one run
  for (size_t tile = begin; tile < end; tile += kTile) {
    const size_t stop = std::min(end, tile + kTile);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = tile; p < stop; ++p) to[p * channels + c] = factor * from[c * pixels + p];
    }
  }
}

void separate(const float* from, size_t pixels, size_t channels, size_t begin, size_t end, float factor, float* to) {
  constexpr size_t kTile = 64;
  for (size_t tile = begin; tile < end; tile += kTile) {
    const size_t stop = std::min(end, tile + kTile);
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = tile; p < stop; ++p) to[c * pixels + p] = factor * from[p * channels + c];
    }
  }
}

}  // namespace

Tensor to_nhwc(Context& context, const Tensor& nchw, float factor) {
  check_that(nchw.defined() && nchw.rank() == 4 && nchw.dtype() == DType::f32 && nchw.aligned(), "to_nhwc", "input is not [N, C, H, W] of f32",
             nchw.shape());
  const ProfileSpan span = moving_span(context, "to_nhwc", nchw, 2);
  const int64_t n = nchw.dim(0), c = nchw.dim(1), pixels = nchw.dim(2) * nchw.dim(3);
  Tensor y = Tensor::empty({n, nchw.dim(2), nchw.dim(3), c}, DType::f32, context.scratch);
  for (int64_t b = 0; b < n; ++b) {
    const float* from = nchw.data<float>() + b * c * pixels;
    float* to = y.mutable_data<float>() + b * c * pixels;
    parallel_for(as_size(pixels), 4096, [&](size_t begin, size_t end) { interleave(from, as_size(pixels), as_size(c), begin, end, factor, to); });
  }
  return to_compute(context, y);
}

Tensor to_nchw_f32(Context& context, const Tensor& nhwc, float factor) {
  check_activation(context, nhwc, "to_nchw_f32");
  check_that(nhwc.rank() == 4, "to_nchw_f32", "input is not [N, H, W, C]", nhwc.shape());
  const ProfileSpan span = moving_span(context, "to_nchw", nhwc, 2);
  const Tensor x = to_f32(context, nhwc);
  const int64_t n = x.dim(0), c = x.dim(3), pixels = x.dim(1) * x.dim(2);
  Tensor y = Tensor::empty({n, c, x.dim(1), x.dim(2)}, DType::f32, context.scratch);
  for (int64_t b = 0; b < n; ++b) {
    const float* from = x.data<float>() + b * c * pixels;
    float* to = y.mutable_data<float>() + b * c * pixels;
    parallel_for(as_size(pixels), 4096, [&](size_t begin, size_t end) { separate(from, as_size(pixels), as_size(c), begin, end, factor, to); });
  }
  return y;
}

Tensor concat_channels(Context& context, const Tensor& a, const Tensor& b) {
  check_activation(context, a, "concat_channels");
  check_activation(context, b, "concat_channels");
  const int last = a.rank() - 1;
  check_that(b.rank() == a.rank() && a.shape().with(last, 0) == b.shape().with(last, 0), "concat_channels", "shapes differ before the last dimension",
             b.shape());
  const Shape shape = a.shape().with(last, a.dim(last) + b.dim(last));
  const ProfileSpan span = op_span(context, "concat_channels", [&] {
    return ProfileWork{shape.to_string(), to_string(context.dtype), 0, 2.0 * static_cast<double>(a.size_bytes() + b.size_bytes())};
  });
  Tensor y = Tensor::empty(shape, context.dtype, context.scratch);
  if (y.num_elements() == 0) return y;
  const size_t unit = size_of(context.dtype), a_bytes = as_size(a.dim(last)) * unit, b_bytes = as_size(b.dim(last)) * unit, width = a_bytes + b_bytes;
  parallel_for(y.size_bytes() / width, 1 + 65536 / width, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      std::memcpy(y.mutable_bytes() + row * width, a.bytes() + row * a_bytes, a_bytes);
      std::memcpy(y.mutable_bytes() + row * width + a_bytes, b.bytes() + row * b_bytes, b_bytes);
    }
  });
  return y;
}

Tensor ConvInput::whole(Context& context) const { return height_ == 0 ? tensor_ : upsample_nearest(context, tensor_, height_, width_); }

void weave(Context& context, const Tensor& left, const Tensor& right, int64_t first_row, Tensor& y) {
  const ProfileSpan span = moving_span(context, "weave", left, 4);
  const int64_t height = left.dim(1), width = left.dim(2);
  const size_t pixel = as_size(left.dim(3)) * size_of(context.dtype), row_bytes = pixel * as_size(width);
  parallel_for(as_size(left.dim(0) * height), 1 + 65536 / row_bytes, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) {
      const auto image = static_cast<int64_t>(row) / height, line = static_cast<int64_t>(row) % height;
      const std::byte *even = left.bytes() + row * row_bytes, *odd = right.bytes() + row * row_bytes;
      std::byte* to = y.mutable_bytes() + as_size(image * 2 * height + 2 * line + first_row) * 2 * row_bytes;
      for (int64_t column = 0; column < width; ++column, even += pixel, odd += pixel, to += 2 * pixel) {
        std::memcpy(to, even, pixel);
        std::memcpy(to + pixel, odd, pixel);
      }
    }
  });
}

Tensor upsample_nearest(Context& context, const Tensor& x, int64_t height, int64_t width) {
  check_activation(context, x, "upsample_nearest");
  check_that(x.rank() == 4 && x.num_elements() != 0, "upsample_nearest", "input is not [N, H, W, C]", x.shape());
  check_that(height > 0 && width > 0, "upsample_nearest", "the result has no pixel", x.shape());
  const ProfileSpan span = op_span(context, "upsample_nearest", [&] {
    const double copies = static_cast<double>(height * width) / static_cast<double>(x.dim(1) * x.dim(2));
    return ProfileWork{x.shape().to_string() + " -> " + std::to_string(height) + "x" + std::to_string(width), to_string(context.dtype), 0,
                       (1 + copies) * static_cast<double>(x.size_bytes())};
  });
  const int64_t in_height = x.dim(1), in_width = x.dim(2);
  Tensor y = Tensor::empty({x.dim(0), height, width, x.dim(3)}, context.dtype, context.scratch);
  const size_t pixel = as_size(x.dim(3)) * size_of(context.dtype), row_bytes = pixel * as_size(width);
  parallel_for(as_size(x.dim(0) * height), 1 + 65536 / row_bytes, [&](size_t begin, size_t end) {
    const std::byte* before = nullptr;
    for (size_t row = begin; row < end; ++row) {
      const auto image = static_cast<int64_t>(row) / height, line = static_cast<int64_t>(row) % height * in_height / height;
      const std::byte* from = x.bytes() + as_size((image * in_height + line) * in_width) * pixel;
      std::byte* to = y.mutable_bytes() + row * row_bytes;
      if (from == before) {
        std::memcpy(to, to - row_bytes, row_bytes);
        continue;
      }
      for (int64_t column = 0; column < width; ++column)
        std::memcpy(to + as_size(column) * pixel, from + as_size(column * in_width / width) * pixel, pixel);
      before = from;
    }
  });
  return y;
}

namespace {

Tensor converted(Context& context, const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return to_dtype(x, dtype, context.scratch);
  const ProfileSpan span = op_span(context, "convert", [&] {
    return ProfileWork{x.shape().to_string() + " -> " + std::string(to_string(dtype)), to_string(x.dtype()), 0,
                       static_cast<double>(x.size_bytes() + static_cast<size_t>(x.num_elements()) * size_of(dtype))};
  });
  return to_dtype(x, dtype, context.scratch);
}

}  // namespace

Tensor to_compute(Context& context, const Tensor& x) { return converted(context, x, context.dtype); }

Tensor to_f32(Context& context, const Tensor& x) { return converted(context, x, DType::f32); }

}  // namespace veneer::compute
