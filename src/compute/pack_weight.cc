// A tile of rows is converted into a buffer of the first caches; blocks are then transposed from it, or gathered where the layout or a kernel's taps
// ask for more than that, in the order in which they are written.
#include "compute/pack_weight.h"

#include <hwy/cache_control.h>
#include "compute/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compute/pack_weight.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "compute/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace veneer::compute::HWY_NAMESPACE {

// For each of `blocks` blocks: out[p] = from[index[p]] for p below `count`; then from += from_step, out += out_step.
void gather_f32(const float* from, size_t from_step, const int32_t* index, size_t count, size_t blocks, float* out, size_t out_step) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t n = hn::Lanes(d);
  // Written past the caches: a network's weights are larger than they are, and are read much later.
  const bool stream = count % n == 0 && out_step % n == 0 && reinterpret_cast<uintptr_t>(out) % (n * sizeof(float)) == 0;
  for (size_t b = 0; b < blocks; ++b, from += from_step, out += out_step) {
    size_t p = 0;
    if (stream) {
      for (; p < count; p += n) hn::Stream(hn::GatherIndex(d, from, hn::LoadU(di, index + p)), d, out + p);
    } else {
      for (; p + n <= count; p += n) hn::StoreU(hn::GatherIndex(d, from, hn::LoadU(di, index + p)), d, out + p);
      for (; p < count; ++p) out[p] = from[index[p]];
    }
  }
}

void gather_bf16(const float* from, size_t from_step, const int32_t* index, size_t count, size_t blocks, uint16_t* out, size_t out_step) {
  const hn::CappedTag<float, 16> d;
  const hn::RebindToSigned<decltype(d)> di;
  const size_t n = hn::Lanes(d);
  const hn::CappedTag<float, 1> d1;
  for (size_t b = 0; b < blocks; ++b, from += from_step, out += out_step) {
    size_t p = 0;
    for (; p + n <= count; p += n) store(d, hn::GatherIndex(d, from, hn::LoadU(di, index + p)), out + p);
    for (; p < count; ++p) store(d1, hn::Set(d1, from[index[p]]), out + p);
  }
}

}  // namespace veneer::compute::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "compute/transpose_units.h"
#include "tensor/tile.h"

namespace veneer::compute {
namespace {

HWY_EXPORT(gather_f32);
HWY_EXPORT(gather_bf16);

bool is_element_dtype(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8_e4m3fn || dtype == DType::f8_e5m2;
}

// One weight on its way into one layout.
class Packing {
 public:
  Packing(const WeightAxes& axes, const BlockedLayout& layout, DType dtype, std::byte* target)
      : axes_(axes),
        layout_(layout),
        dtype_(dtype),
        target_(target),
        out_(layout.extents[static_cast<size_t>(axes.out)]),
        in_(layout.extents[static_cast<size_t>(axes.in)]),
        block_out_(layout.block_extent(axes.out)),
        block_in_(layout.block_extent(axes.in)) {
    for (int axis = 2; axis < layout.rank; ++axis) taps_ *= layout.extents[static_cast<size_t>(axis)];
    // A tile of about 32 KB that spans whole blocks; some elements more per row keep rows out of each other's cache sets.
    constexpr int64_t kTileElements = 8192, kSkew = 16;
    const int64_t wanted = std::max<int64_t>(1, kTileElements / (block_out_ * block_in_ * taps_));
    const int64_t blocks_in = layout.padded[static_cast<size_t>(axes.in)] / block_in_;
    tile_blocks_ = std::min(wanted, blocks_in);
    tiles_in_ = (blocks_in + tile_blocks_ - 1) / tile_blocks_;
    row_ = tile_blocks_ * block_in_ * taps_ + kSkew;
    transposes_ = is_transposition();
    if (!transposes_) fill_index();
  }

  int64_t block_rows() const { return layout_.padded[static_cast<size_t>(axes_.out)] / block_out_; }
  int64_t tiles_of_block_row() const { return tiles_in_; }
  size_t buffer_elements() const { return static_cast<size_t>(block_out_ * row_); }

  // read(tile, out): a part of the weight as f32.
  template <typename Read>
  void pack(int64_t block_row, int64_t tile, float* buffer, const Read& read) const {
    const int64_t first_block = tile * tile_blocks_;
    const int64_t blocks = std::min(tile_blocks_, layout_.padded[static_cast<size_t>(axes_.in)] / block_in_ - first_block);
    load(block_row * block_out_, first_block * block_in_, blocks * block_in_, buffer, read);
    if (transposes_) return transpose(block_row, first_block, blocks, buffer, row_);
    const int64_t base = block_row * stride(axes_.out) + first_block * stride(axes_.in);
    for (int64_t tap = 0; tap < taps_; ++tap) gather(buffer + tap, blocks, base + tap_offset(tap));
  }

 private:
  int64_t stride(int axis) const { return layout_.strides[static_cast<size_t>(axis)]; }

  int64_t tap_offset(int64_t tap) const {
    int64_t offset = 0;
    for (int axis = layout_.rank - 1; axis >= 2; --axis) {
      const int64_t extent = layout_.extents[static_cast<size_t>(axis)];
      offset += tap % extent * stride(axis);
      tap /= extent;
    }
    return offset;
  }

  // Whether a block is its rows' transposition: `out` runs fastest, in whole vectors, over single floats or pairs of bf16 of one row, and blocks that
  // follow each other along `in` do so in the target.
  bool is_transposition() const {
    constexpr int64_t kVector = 16;
    const size_t pairs = dtype_ == DType::bf16 ? 1 : 0;
    const auto& inner = layout_.inner;
    if (taps_ != 1 || inner.size() < 1 + pairs || inner.size() > 2 + pairs) return false;
    if (pairs != 0 && (inner.back().axis != axes_.in || inner.back().extent != 2)) return false;
    const BlockedLayout::Block& out = inner[inner.size() - 1 - pairs];
    if (out.axis != axes_.out || out.extent % kVector != 0 || (inner.size() == 2 + pairs && inner.front().axis != axes_.in)) return false;
    // Every tile has whole groups of columns, as transpose_units wants them.
    constexpr int64_t kColumns = 8;
    const bool whole = block_in_ % kColumns == 0 || (tile_blocks_ * block_in_ % kColumns == 0 && in_ % kColumns == 0);
    return whole && stride(axes_.in) == block_in_ * block_out_;
  }

  void transpose(int64_t block_row, int64_t first_block, int64_t blocks, const float* rows, int64_t row_stride) const {
    const int64_t base = block_row * stride(axes_.out) + first_block * stride(axes_.in);
    const auto out = static_cast<size_t>(block_out_), columns = static_cast<size_t>(blocks * block_in_), step = static_cast<size_t>(row_stride);
    if (dtype_ == DType::f32) return transpose_units(rows, step, out, columns, reinterpret_cast<float*>(target_) + base, out);
    std::vector<uint16_t> narrowed(out * columns);
    narrow_rows(rows, step, out, columns, narrowed.data());
    transpose_units(reinterpret_cast<const float*>(narrowed.data()), columns / 2, out, columns / 2, reinterpret_cast<float*>(target_ + base * 2),
                    out);
  }

  void gather(const float* from, int64_t blocks, int64_t offset) const {
    const auto from_step = static_cast<size_t>(block_in_ * taps_), count = static_cast<size_t>(blocks), step = static_cast<size_t>(stride(axes_.in));
    if (dtype_ == DType::f32) {
      HWY_DYNAMIC_DISPATCH(gather_f32)(from, from_step, index_.data(), index_.size(), count, reinterpret_cast<float*>(target_) + offset, step);
    } else {
      HWY_DYNAMIC_DISPATCH(gather_bf16)(from, from_step, index_.data(), index_.size(), count, reinterpret_cast<uint16_t*>(target_) + offset, step);
    }
  }

  // The place in the buffer of each element of a block, in the order of the target.
  void fill_index() {
    index_.resize(static_cast<size_t>(block_out_ * block_in_));
    for (size_t p = 0; p < index_.size(); ++p) {
      int64_t rest = static_cast<int64_t>(p), o = 0, i = 0, unit_o = 1, unit_i = 1;
      for (auto block = layout_.inner.rbegin(); block != layout_.inner.rend(); ++block) {
        const int64_t place = rest % block->extent;
        rest /= block->extent;
        (block->axis == axes_.out ? o : i) += place * (block->axis == axes_.out ? unit_o : unit_i);
        (block->axis == axes_.out ? unit_o : unit_i) *= block->extent;
      }
      index_[p] = static_cast<int32_t>(o * row_ + i * taps_);
    }
  }

  // Rows [first_out, + block_out_) and inputs [first_in, + count) as f32; zeros where the weight has ended.
  template <typename Read>
  void load(int64_t first_out, int64_t first_in, int64_t count, float* buffer, const Read& read) const {
    const int64_t there = std::clamp<int64_t>(in_ - first_in, 0, count) * taps_, rows = std::clamp<int64_t>(out_ - first_out, 0, block_out_);
    if (there > 0 && rows > 0) read(Tile{first_out, rows, first_in * taps_, there}, TileValues{buffer, row_});
    for (int64_t o = 0; o < block_out_; ++o) std::fill(buffer + o * row_ + (o < rows ? there : 0), buffer + o * row_ + count * taps_, 0.0F);
  }

  WeightAxes axes_;
  const BlockedLayout& layout_;
  DType dtype_;
  std::byte* target_;
  int64_t out_, in_, block_out_, block_in_;
  int64_t taps_ = 1;
  int64_t tile_blocks_ = 1, tiles_in_ = 1;
  int64_t row_ = 0;  // elements from one row of the buffer to the next
  bool transposes_ = false;
  std::vector<int32_t> index_;  // empty where blocks are transposed
};

// Tiles that one thread takes at least: small weights, as an adapter's factors are, are packed sooner than another thread wakes up.
constexpr size_t kTilesPerThread = 4;

template <typename Read>
void pack_tiles(const Packing& packing, const Read& read) {
  const int64_t tiles = packing.tiles_of_block_row();
  parallel_for(static_cast<size_t>(packing.block_rows() * tiles), kTilesPerThread, [&](size_t begin, size_t end) {
    std::vector<float> buffer(packing.buffer_elements());
    for (auto tile = static_cast<int64_t>(begin); tile < static_cast<int64_t>(end); ++tile) {
      packing.pack(tile / tiles, tile % tiles, buffer.data(), read);
    }
    // What was written past the caches is there before others read it. Once, since it waits for the memory.
    hwy::FlushStream();
  });
}

}  // namespace

bool can_pack(DType source, const WeightAxes& axes, const BlockedLayout& layout, DType dtype) {
  constexpr int64_t kVector = 8;  // of the smallest block that oneDNN uses with vectors
  if (dtype != DType::f32 && dtype != DType::bf16) return false;
  if (!is_element_dtype(source) || layout.rank < 2) return false;
  int64_t elements = 1;
  for (const BlockedLayout::Block& block : layout.inner) {
    if (block.axis != axes.out && block.axis != axes.in) return false;
    elements *= block.extent;
  }
  for (size_t axis = 2; axis < static_cast<size_t>(layout.rank); ++axis) {
    if (layout.padded[axis] != layout.extents[axis]) return false;
  }
  return elements % kVector == 0;
}

void pack_weight(const WeightSource& weight, const WeightAxes& axes, const BlockedLayout& layout, DType dtype, std::byte* target) {
  const Packing packing(axes, layout, dtype, target);
  if (weight.made() != nullptr) {
    pack_tiles(packing, [&](const Tile& tile, const TileValues& out) { weight.made()->tile(tile, out); });
  } else {
    pack_tiles(packing, [&](const Tile& tile, const TileValues& out) { copy_to_f32(weight.stored(), tile, out); });
  }
}

}  // namespace veneer::compute
#endif
