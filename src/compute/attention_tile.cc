// Everything is transposed: lanes are queries. Scores are K (q^T) and results (V^T) P^T, so both products broadcast single elements of keys and
// values, which are read where they lie; no head_dim wastes lanes; the maximum and the sum of a query stay in its lane; and only queries and results,
// which are few, have to be turned. Softmax runs over tiles of keys with the maximum so far (Milakov and Gimelshein 2018; Dao et al.,
// "FlashAttention", 2022).
#include "compute/attention_tile.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/attention_tile.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

// Channels of queries that stay in the first cache while keys pass by.
constexpr size_t kChannels = 80;
// Keys of a tile; their scores take 24 KB at most.
constexpr size_t kTileKeys = 128;
constexpr size_t kGroupQueries = kMostVectors * hn::MaxLanes(Lanes());
constexpr size_t kMostGroups = kAttentionQueries / kGroupQueries;
static_assert(kAttentionQueries % kGroupQueries == 0);
static_assert(kTileKeys % kRows == 0);

// Queries that are worked on together, and what they have gathered so far. Arrays run fastest over the queries.
struct Group {
  size_t first = 0, count = 0, width = 0;  // of its queries, among the head's; width counts whole vectors
  float* queries = nullptr;                // [head_dim][width], times the factor
  float* sums = nullptr;                   // [head_dim][width], of weighted values
  float* most = nullptr;                   // [width], of the scores
  float* totals = nullptr;                 // [width], of the weights relative to `most`
};

// Some keys of a head and their values.
struct Tile {
  size_t first = 0, count = 0;
  const float* keys = nullptr;
  const float* values = nullptr;
  bool cold = false;  // nobody has read it lately
};

// Asks for some channels of the keys after those of the next products, and for the values that come after the scores: rows of one head lie too far
// apart for the CPU to see them coming.
HWY_INLINE void fetch(const AttentionHead& head, const Tile& tile, size_t key, size_t channel, size_t channels) {
  constexpr size_t kLine = 16;
  const size_t ahead = std::min(key + 2 * kRows, head.num_keys - tile.first), here = std::min(key + kRows, tile.count);
  for (size_t j = key + kRows; j < ahead; ++j) {
    for (size_t c = 0; c < channels; c += kLine) __builtin_prefetch(tile.keys + j * head.key_stride + channel + c, 0, 3);
  }
  for (size_t j = key; j < here; ++j) {
    for (size_t c = 0; c < channels; c += kLine) __builtin_prefetch(tile.values + j * head.value_stride + channel + c, 0, 2);
  }
}

// scores [count][width]. Rows up to a multiple of kRows are written.
template <size_t kVectors>
void score(const AttentionHead& head, const Tile& tile, const Group& group, float* scores) {
  const size_t width = group.width;
  for (size_t c = 0; c < head.head_dim; c += kChannels) {
    const size_t channels = std::min(kChannels, head.head_dim - c);
    for (size_t j = 0; j < tile.count; j += kRows) {
      if (tile.cold) fetch(head, tile, j, c, channels);
      const float* rows[kRows];
      // The last key again in the place of those behind it.
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) rows[r] = tile.keys + std::min(j + r, tile.count - 1) * head.key_stride + c;
      multiply<kRows, kVectors>([&](size_t i, size_t r) HWY_ATTR { return rows[r][i]; }, group.queries + c * width, channels, width, c == 0,
                                scores + j * width);
    }
  }
}

// sums += weights [count][width] times values
template <size_t kVectors>
void weigh(const AttentionHead& head, const Tile& tile, const Group& group, const float* weights) {
  const size_t width = group.width, stride = head.value_stride;
  const bool fresh = tile.first == 0;
  size_t c = 0;
  for (; c + kRows <= head.head_dim; c += kRows) {
    const float* values = tile.values + c;
    multiply<kRows, kVectors>([&](size_t i, size_t r) HWY_ATTR { return values[i * stride + r]; }, weights, tile.count, width, fresh,
                              group.sums + c * width);
  }
  for (; c < head.head_dim; ++c) {
    const float* values = tile.values + c;
    multiply<1, kVectors>([&](size_t i, size_t) HWY_ATTR { return values[i * stride]; }, weights, tile.count, width, fresh, group.sums + c * width);
  }
}

// Scores of keys behind a query become minus infinity.
void hide_later_keys(const Tile& tile, const Group& group, float* scores) {
  for (size_t j = 0; j < tile.count; ++j) {
    const size_t key = tile.first + j, hidden = key > group.first ? std::min(key - group.first, group.width) : 0;
    std::fill_n(scores + j * group.width, hidden, -std::numeric_limits<float>::infinity());
  }
}

// The larger of `most` and the maximum of `count` scores, each `width` behind the one before.
HWY_INLINE Vector largest(Lanes d, const float* scores, size_t count, size_t width, Vector most) {
  auto m0 = most, m1 = most, m2 = most, m3 = most;
  size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    m0 = larger(m0, hn::Load(d, scores + j * width));
    m1 = larger(m1, hn::Load(d, scores + (j + 1) * width));
    m2 = larger(m2, hn::Load(d, scores + (j + 2) * width));
    m3 = larger(m3, hn::Load(d, scores + (j + 3) * width));
  }
  for (; j < count; ++j) m0 = larger(m0, hn::Load(d, scores + j * width));
  return larger(larger(m0, m1), larger(m2, m3));
}

// One step of the online softmax for the vector of queries at `at`: scores become weights relative to the new maximum, and what was gathered so far
// shrinks to it.
void soften(const AttentionHead& head, const Tile& tile, const Group& group, size_t at, float* scores) {
  const Lanes d;
  const size_t width = group.width, count = tile.count;
  scores += at;
  const auto before = hn::Load(d, group.most + at), most = largest(d, scores, count, width, before);
  auto s0 = hn::Load(d, group.totals + at), s1 = hn::Zero(d), s2 = s1, s3 = s1;
  if (!hn::AllTrue(d, hn::Eq(most, before))) {
    hn::Store(most, d, group.most + at);
    if (tile.first > 0) {
      const auto shrink = exp2_weight(d, hn::Sub(before, most));
      float* sums = group.sums + at;
      for (size_t c = 0; c < head.head_dim; ++c) hn::Store(hn::Mul(hn::Load(d, sums + c * width), shrink), d, sums + c * width);
      s0 = hn::Mul(s0, shrink);
    }
  }
  const auto weight = [&](size_t row) HWY_ATTR {
    const auto w = exp2_weight(d, hn::Sub(hn::Load(d, scores + row * width), most));
    hn::Store(w, d, scores + row * width);
    return w;
  };
  size_t j = 0;
  for (; j + 4 <= count; j += 4) {
    s0 = hn::Add(s0, weight(j));
    s1 = hn::Add(s1, weight(j + 1));
    s2 = hn::Add(s2, weight(j + 2));
    s3 = hn::Add(s3, weight(j + 3));
  }
  for (; j < count; ++j) s0 = hn::Add(s0, weight(j));
  hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, group.totals + at);
}

// Takes a tile of keys and their values into what a group has gathered.
template <size_t kVectors>
void step_of_vectors(const AttentionHead& head, const Tile& tile, const Group& group, float* scores) {
  score<kVectors>(head, tile, group, scores);
  if (head.causal && tile.first + tile.count > group.first + 1) hide_later_keys(tile, group, scores);
  for (size_t v = 0; v < kVectors; ++v) soften(head, tile, group, v * hn::Lanes(Lanes()), scores);
  weigh<kVectors>(head, tile, group, scores);
}

void step(const AttentionHead& head, Tile tile, const Group& group, float* scores) {
  if (head.causal) {
    const size_t seen = group.first + group.count;
    if (seen <= tile.first) return;
    tile.count = std::min(tile.count, seen - tile.first);
  }
  const size_t vectors = group.width / hn::Lanes(Lanes());
  if (vectors == kMostVectors) return step_of_vectors<kMostVectors>(head, tile, group, scores);
  if constexpr (kTurns) {
    if (kMostVectors > 2 && vectors == 2) return step_of_vectors<2>(head, tile, group, scores);
    step_of_vectors<1>(head, tile, group, scores);
  }
}

// Divides a block's queries into groups of whole vectors, as equal as can be. Returns their number.
size_t divide(size_t head_dim, size_t first, size_t count, float* scratch, Group* groups) {
  const size_t n = hn::Lanes(Lanes());
  const size_t vectors = (count + n - 1) / n, number = (vectors + kMostVectors - 1) / kMostVectors;
  for (size_t g = 0; g < number; ++g) {
    const size_t begin = vectors * g / number * n, end = std::min(vectors * (g + 1) / number * n, count);
    Group& group = groups[g];
    group.first = first + begin;
    group.count = end - begin;
    group.width = kTurns ? (group.count + n - 1) / n * n : kMostVectors * n;
    const auto take = [&](size_t rows) { return std::exchange(scratch, scratch + rows * group.width); };
    group.queries = take(head_dim);
    group.sums = take(head_dim);
    group.most = take(1);
    group.totals = take(1);
    // Finite, so that its distance to a score is a number.
    std::fill_n(group.most, group.width, std::numeric_limits<float>::lowest());
    std::fill_n(group.totals, group.width, 0.0F);
  }
  return number;
}

template <typename T>
void attend_block(const AttentionHead& head, const AttentionBlock<T>& block, float* scratch) {
  float* scores = std::exchange(scratch, scratch + kTileKeys * kGroupQueries);
  Group groups[kMostGroups];
  const size_t d = head.head_dim, number = divide(d, block.first, block.count, scratch, groups);
  for (size_t g = 0; g < number; ++g) {
    const Group& group = groups[g];
    queries_to_lanes(block.queries + (group.first - block.first) * block.query_stride, block.query_stride, group.count, head.factor, d, group.width,
                     group.queries);
  }
  // A tile comes from a far cache once for all groups.
  const size_t keys = head.causal ? std::min(head.num_keys, block.first + block.count) : head.num_keys;
  for (size_t key = 0; key < keys; key += kTileKeys) {
    const size_t count = std::min(kTileKeys, keys - key);
    const Tile tile{.first = key, .count = count, .keys = head.keys + key * head.key_stride, .values = head.values + key * head.value_stride};
    for (size_t g = 0; g < number; ++g) {
      Tile mine = tile;
      mine.cold = g == 0;
      step(head, mine, groups[g], scores);
    }
  }
  for (size_t g = 0; g < number; ++g) {
    const Group& group = groups[g];
    lanes_to_results(group.sums, group.totals, d, group.width, group.count, block.results + (group.first - block.first) * block.result_stride,
                     block.result_stride);
  }
}

template <typename T>
void copy_rows_of(const T* from, size_t from_stride, size_t rows, size_t columns, float* to) {
  for (size_t r = 0; r < rows; ++r, from += from_stride, to += columns) {
    for_each_vector(columns, [&](auto d, size_t i) HWY_ATTR { hn::StoreU(load(d, from + i), d, to + i); });
  }
}

void copy_f32(const float* from, size_t stride, size_t rows, size_t columns, float* to) { copy_rows_of(from, stride, rows, columns, to); }
void copy_bf16(const uint16_t* from, size_t stride, size_t rows, size_t columns, float* to) { copy_rows_of(from, stride, rows, columns, to); }
void attend_f32(const AttentionHead& head, const AttentionBlock<float>& block, float* scratch) { attend_block(head, block, scratch); }
void attend_bf16(const AttentionHead& head, const AttentionBlock<uint16_t>& block, float* scratch) { attend_block(head, block, scratch); }
// Scores, and what divide() hands out: a last vector of each block, or group of the smallest target, is filled up.
size_t scratch_floats(size_t head_dim) { return kTileKeys * kGroupQueries + (2 * head_dim + 2) * (kAttentionQueries + kGroupQueries); }

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace veneer::compute {

HWY_EXPORT(copy_f32);
HWY_EXPORT(copy_bf16);
HWY_EXPORT(attend_f32);
HWY_EXPORT(attend_bf16);
HWY_EXPORT(scratch_floats);

void copy_rows(const float* from, size_t stride, size_t rows, size_t columns, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_f32)(from, stride, rows, columns, to);
}
void copy_rows(const uint16_t* from, size_t stride, size_t rows, size_t columns, float* to) {
  HWY_DYNAMIC_DISPATCH(copy_bf16)(from, stride, rows, columns, to);
}

size_t attention_scratch(size_t head_dim) { return HWY_DYNAMIC_DISPATCH(scratch_floats)(head_dim); }

void attend(const AttentionHead& head, const AttentionBlock<float>& block, float* scratch) { HWY_DYNAMIC_DISPATCH(attend_f32)(head, block, scratch); }
void attend(const AttentionHead& head, const AttentionBlock<uint16_t>& block, float* scratch) {
  HWY_DYNAMIC_DISPATCH(attend_bf16)(head, block, scratch);
}

}  // namespace veneer::compute
#endif
