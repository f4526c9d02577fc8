// GroupNorm over NHWC, with the addition before it and SiLU after it in the same passes. Wu and He, "Group Normalization" (2018).
//
// Two sweeps over memory: statistics, then the map that they give per channel. Rows are cut into chunks that fit a second-level cache and
// depend on the shape alone. Each chunk has its own mean and sum of squares about it (two passes, the second one in cache), and chunks are merged
// in order in double (Chan, Golub, LeVeque 1979): no cancellation for large means, and the same bits for every number of threads.
#include <cmath>

#include "compute/ops.h"
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/group_norm.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

#ifndef VENEER_COMPUTE_GROUP_NORM_ONCE
#define VENEER_COMPUTE_GROUP_NORM_ONCE
namespace veneer::compute {

// Sums about a pivot of one group in one chunk.
struct GroupMoments {
  double mean = 0;
  double squares = 0;  // sum of (x - mean)^2
};

struct GroupNormChunk {
  size_t rows = 0, channels = 0, groups = 0;
  const float* add = nullptr;  // [channels] or null
  float* work = nullptr;       // [3 * channels]
};

// Of one image: [channels] each.
struct GroupNormMap {
  const float *centre = nullptr, *scale = nullptr, *bias = nullptr;
};

}  // namespace veneer::compute
#endif

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

// sums[c] = sum over rows of x[r][c] - pivot[c]; squares[c] = the same of its square. Four rows at a time, as a tree.
template <bool kSquares, typename T>
void channel_sums(const T* x, size_t rows, size_t channels, const float* pivot, float* sums, float* squares) {
  for_each_vector(channels, [&](auto d, size_t c) HWY_ATTR {
    hn::StoreU(hn::Zero(d), d, sums + c);
    if (kSquares) hn::StoreU(hn::Zero(d), d, squares + c);
  });
  size_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * channels) {
    for_each_vector(channels, [&](auto d, size_t c) HWY_ATTR {
      const auto p = hn::LoadU(d, pivot + c);
      const auto a = hn::Sub(load(d, x + c), p), b = hn::Sub(load(d, x + channels + c), p);
      const auto e = hn::Sub(load(d, x + 2 * channels + c), p), f = hn::Sub(load(d, x + 3 * channels + c), p);
      hn::StoreU(hn::Add(hn::LoadU(d, sums + c), hn::Add(hn::Add(a, b), hn::Add(e, f))), d, sums + c);
      if (kSquares) {
        const auto s = hn::Add(hn::MulAdd(a, a, hn::Mul(b, b)), hn::MulAdd(e, e, hn::Mul(f, f)));
        hn::StoreU(hn::Add(hn::LoadU(d, squares + c), s), d, squares + c);
      }
    });
  }
  for (; r < rows; ++r, x += channels) {
    for_each_vector(channels, [&](auto d, size_t c) HWY_ATTR {
      const auto a = hn::Sub(load(d, x + c), hn::LoadU(d, pivot + c));
      hn::StoreU(hn::Add(hn::LoadU(d, sums + c), a), d, sums + c);
      if (kSquares) hn::StoreU(hn::MulAdd(a, a, hn::LoadU(d, squares + c)), d, squares + c);
    });
  }
}

template <typename T>
void group_norm_moments(const T* x, const GroupNormChunk& chunk, GroupMoments* out) {
  const size_t channels = chunk.channels, per_group = channels / chunk.groups;
  float *pivot = chunk.work, *sums = pivot + channels, *squares = sums + channels;
  // With the pivot at -add, x - pivot is the value that the statistics are of.
  for (size_t c = 0; c < channels; ++c) pivot[c] = chunk.add == nullptr ? 0.0F : -chunk.add[c];
  channel_sums<false>(x, chunk.rows, channels, pivot, sums, squares);
  const double count = static_cast<double>(chunk.rows * per_group);
  for (size_t g = 0; g < chunk.groups; ++g) {
    double sum = 0;
    for (size_t c = g * per_group; c < (g + 1) * per_group; ++c) sum += static_cast<double>(sums[c]);
    const auto mean = static_cast<float>(sum / count);
    out[g].mean = static_cast<double>(mean);
    for (size_t c = g * per_group; c < (g + 1) * per_group; ++c) pivot[c] += mean;
  }
  channel_sums<true>(x, chunk.rows, channels, pivot, sums, squares);
  for (size_t g = 0; g < chunk.groups; ++g) {
    double sum = 0, square = 0;
    for (size_t c = g * per_group; c < (g + 1) * per_group; ++c) {
      sum += static_cast<double>(sums[c]);
      square += static_cast<double>(squares[c]);
    }
    // What rounding left of the mean.
    out[g].mean += sum / count;
    out[g].squares = square - sum * sum / count;
  }
}

// [channels] each: y = (x - centre) * scale + bias. Subtracting first keeps the digits of x where the deviation is small next to the mean.
template <bool kSilu, typename T>
void affine_rows(const T* x, const GroupNormMap& map, size_t rows, size_t channels, T* y) {
  for (size_t r = 0; r < rows; ++r, x += channels, y += channels) {
    for_each_vector(channels, [&](auto d, size_t c) HWY_ATTR {
      const auto centred = hn::Sub(load(d, x + c), hn::LoadU(d, map.centre + c));
      const auto value = hn::MulAdd(centred, hn::LoadU(d, map.scale + c), hn::LoadU(d, map.bias + c));
      if constexpr (kSilu) {
        store(d, silu_of(d, value), y + c);
      } else {
        store(d, value, y + c);
      }
    });
  }
}

void group_norm_moments_f32(const float* x, const GroupNormChunk& chunk, GroupMoments* out) { group_norm_moments(x, chunk, out); }
void group_norm_moments_bf16(const uint16_t* x, const GroupNormChunk& chunk, GroupMoments* out) { group_norm_moments(x, chunk, out); }
void group_norm_apply_f32(const float* x, const GroupNormMap& map, size_t rows, size_t channels, bool silu, float* y) {
  silu ? affine_rows<true>(x, map, rows, channels, y) : affine_rows<false>(x, map, rows, channels, y);
}
void group_norm_apply_bf16(const uint16_t* x, const GroupNormMap& map, size_t rows, size_t channels, bool silu, uint16_t* y) {
  silu ? affine_rows<true>(x, map, rows, channels, y) : affine_rows<false>(x, map, rows, channels, y);
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>

#include "base/parallel.h"
#include "compute/check.h"
#include "compute/op_span.h"

namespace veneer::compute {

HWY_EXPORT(group_norm_moments_f32);
HWY_EXPORT(group_norm_moments_bf16);
HWY_EXPORT(group_norm_apply_f32);
HWY_EXPORT(group_norm_apply_bf16);

namespace {

// 256 KB of f32: a second-level cache keeps it between the two passes.
constexpr size_t kChunkElements = 65536;

struct Extents {
  size_t images = 0, rows = 0, channels = 0, groups = 0;
  size_t chunk_rows = 0, chunks = 0;  // per image
};

Extents extents_of(const Tensor& x, int groups) {
  Extents e;
  e.images = static_cast<size_t>(x.dim(0));
  e.channels = static_cast<size_t>(x.dim(x.rank() - 1));
  e.rows = static_cast<size_t>(x.num_elements()) / e.images / e.channels;
  e.groups = static_cast<size_t>(groups);
  e.chunk_rows = std::max<size_t>(1, kChunkElements / e.channels);
  e.chunks = (e.rows + e.chunk_rows - 1) / e.chunk_rows;
  return e;
}

// moments: [images, chunks, groups]. add: [images, channels] or null.
void measure(Context& context, const Tensor& x, const Extents& e, const float* add, GroupMoments* moments) {
  parallel_for(e.images * e.chunks, 1, [&](size_t begin, size_t end) {
    Tensor work = Tensor::empty({static_cast<int64_t>(3 * e.channels)}, DType::f32, context.scratch);
    for (size_t item = begin; item < end; ++item) {
      const size_t image = item / e.chunks, first = item % e.chunks * e.chunk_rows;
      const GroupNormChunk chunk{std::min(e.chunk_rows, e.rows - first), e.channels, e.groups, add == nullptr ? nullptr : add + image * e.channels,
                                 work.mutable_data<float>()};
      const size_t offset = (image * e.rows + first) * e.channels;
      if (x.dtype() == DType::f32) {
        HWY_DYNAMIC_DISPATCH(group_norm_moments_f32)(x.data<float>() + offset, chunk, moments + item * e.groups);
      } else {
        HWY_DYNAMIC_DISPATCH(group_norm_moments_bf16)(x.data<uint16_t>() + offset, chunk, moments + item * e.groups);
      }
    }
  });
}

GroupMoments merge(const Extents& e, const GroupMoments* first) {
  GroupMoments all;
  double count = 0;
  for (size_t i = 0; i < e.chunks; ++i) {
    const GroupMoments& part = first[i * e.groups];
    const size_t rows = std::min(e.chunk_rows, e.rows - i * e.chunk_rows);
    const double added = static_cast<double>(rows * (e.channels / e.groups)), total = count + added, delta = part.mean - all.mean;
    all.mean += delta * added / total;
    all.squares += part.squares + delta * delta * count * added / total;
    count = total;
  }
  all.squares /= count;
  return all;
}

// centre and scale: [images, channels].
void solve(const Extents& e, const GroupMoments* moments, const float* weight, const float* add, float eps, float* centre, float* scale) {
  const size_t per_group = e.channels / e.groups;
  for (size_t image = 0; image < e.images; ++image) {
    for (size_t g = 0; g < e.groups; ++g) {
      const GroupMoments all = merge(e, moments + image * e.chunks * e.groups + g);
      const double inverse_deviation = 1.0 / std::sqrt(std::max(all.squares, 0.0) + static_cast<double>(eps));
      for (size_t c = g * per_group; c < (g + 1) * per_group; ++c) {
        const size_t at = image * e.channels + c;
        centre[at] = static_cast<float>(all.mean - (add == nullptr ? 0.0 : static_cast<double>(add[at])));
        scale[at] = static_cast<float>(inverse_deviation * static_cast<double>(weight[c]));
      }
    }
  }
}

}  // namespace

Tensor group_norm(Context& context, const Tensor& x, const Tensor& weight, const Tensor& bias, int groups, float eps, bool silu,
                  const Tensor* channel_add) {
  check_activation(context, x, "group norm");
  check_that(x.rank() >= 2 && x.num_elements() != 0, "group norm", "input is not [N, ..., C]", x.shape());
  const int64_t channels = x.dim(x.rank() - 1);
  check_that(groups > 0 && channels % groups == 0, "group norm", "the channels do not divide into the groups", x.shape());
  check_parameter(weight, channels, "group norm");
  check_parameter(bias, channels, "group norm");
  const ProfileSpan span = moving_span(context, silu ? "group_norm_silu" : "group_norm", x, 2);
  Tensor add_f32;
  if (channel_add != nullptr) {
    check_activation(context, *channel_add, "group norm");
    check_that(channel_add->shape() == Shape({x.dim(0), channels}), "group norm", "the addition is not [N, C]", channel_add->shape());
    add_f32 = to_f32(context, *channel_add);
  }
  const float* added = channel_add == nullptr ? nullptr : add_f32.data<float>();
  const Extents e = extents_of(x, groups);
  Tensor moments = Tensor::empty({static_cast<int64_t>(e.images * e.chunks * e.groups * 2)}, DType::f64, context.scratch);
  static_assert(sizeof(GroupMoments) == 2 * sizeof(double));
  auto* parts = reinterpret_cast<GroupMoments*>(moments.mutable_data<double>());
  measure(context, x, e, added, parts);
  Tensor centre = Tensor::empty({x.dim(0), channels}, DType::f32, context.scratch),
         scale = Tensor::empty({x.dim(0), channels}, DType::f32, context.scratch);
  solve(e, parts, weight.data<float>(), added, eps, centre.mutable_data<float>(), scale.mutable_data<float>());

  Tensor y = Tensor::empty(x.shape(), context.dtype, context.scratch);
  parallel_for(e.images * e.chunks, 1, [&](size_t begin, size_t end) {
    for (size_t item = begin; item < end; ++item) {
      const size_t image = item / e.chunks, first = item % e.chunks * e.chunk_rows, rows = std::min(e.chunk_rows, e.rows - first);
      const size_t offset = (image * e.rows + first) * e.channels;
      const GroupNormMap map{centre.data<float>() + image * e.channels, scale.data<float>() + image * e.channels, bias.data<float>()};
      if (context.dtype == DType::f32) {
        HWY_DYNAMIC_DISPATCH(group_norm_apply_f32)(x.data<float>() + offset, map, rows, e.channels, silu, y.mutable_data<float>() + offset);
      } else {
        HWY_DYNAMIC_DISPATCH(group_norm_apply_bf16)(x.data<uint16_t>() + offset, map, rows, e.channels, silu, y.mutable_data<uint16_t>() + offset);
      }
    }
  });
  return y;
}

}  // namespace veneer::compute
#endif
