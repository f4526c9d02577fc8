#include "compute/pack_weight.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compute/cpu.h"
#include "compute/kernel_isa.h"
#include "compute/onednn.h"
#include "compute/ops.h"
#include "compute/test_data.h"
#include "compute/weights.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;

struct Case {
  std::string name;
  Shape weight;  // [out, in, ...]
  WeightAxes axes;
  DType dtype;
  Tag tag;
};

std::vector<Case> cases() {
  const WeightAxes matmul{.out = 1, .in = 0}, conv{.out = 0, .in = 1};
  return {
      {"matmul in whole blocks", {128, 64}, matmul, DType::f32, Tag::BA16a64b},
      {"matmul with padding", {130, 33}, matmul, DType::f32, Tag::BA16a64b},
      {"matmul with less than a block", {3, 5}, matmul, DType::f32, Tag::BA16a64b},
      {"long rows", {64, 3000}, matmul, DType::f32, Tag::BA16a64b},
      {"matmul in blocks of 32", {96, 40}, matmul, DType::f32, Tag::BA16a32b},
      {"matmul of few outputs", {16, 320}, matmul, DType::f32, Tag::BA16a16b},
      {"matmul with padded outputs and whole inputs", {80, 160}, matmul, DType::f32, Tag::BA16a64b},
      {"matmul of bf16 pairs", {128, 320}, matmul, DType::bf16, Tag::BA16a64b2a},
      {"matmul of bf16 pairs with padding", {70, 72}, matmul, DType::bf16, Tag::BA16a64b2a},
      {"matmul of bf16 pairs with odd inputs", {64, 37}, matmul, DType::bf16, Tag::BA16a64b2a},
      {"convolution of one tap", {128, 48, 1, 1}, conv, DType::f32, Tag::Acdb64a},
      {"convolution of one tap in blocks of both", {32, 48, 1, 1}, conv, DType::f32, Tag::OIhw16i16o},
      {"convolution", {64, 48, 3, 3}, conv, DType::f32, Tag::Acdb64a},
      {"convolution with padding", {70, 5, 3, 2}, conv, DType::f32, Tag::Acdb16a},
      {"convolution in blocks of both", {32, 48, 3, 3}, conv, DType::f32, Tag::OIhw16i16o},
      {"convolution in small blocks", {20, 12, 1, 3}, conv, DType::f32, Tag::OIhw8i8o},
      {"bf16 pairs", {64, 64, 3, 3}, conv, DType::bf16, Tag::OIhw8i16o2i},
      {"bf16 pairs with padding", {40, 18, 3, 3}, conv, DType::bf16, Tag::OIhw8i16o2i},
  };
}

// The layout's bytes as oneDNN's reorder writes them.
std::vector<std::byte> reordered(const Case& c, const Tensor& weight, const Desc& layout) {
  const auto type = onednn::data_type(c.dtype);
  const Tensor plain = to_dtype(weight, c.dtype);
  const Desc from = c.weight.rank() == 2 ? Desc({c.weight[1], c.weight[0]}, type, Tag::ba)
                                         : Desc({c.weight[0], c.weight[1], c.weight[2], c.weight[3]}, type, Tag::oihw);
  std::vector<std::byte> out(layout.get_size());
  onednn::reorder(from, plain.bytes(), layout, out.data());
  return out;
}

Desc layout_of(const Case& c) {
  const auto type = onednn::data_type(c.dtype);
  return c.weight.rank() == 2 ? Desc({c.weight[1], c.weight[0]}, type, c.tag)
                              : Desc({c.weight[0], c.weight[1], c.weight[2], c.weight[3]}, type, c.tag);
}

TEST(PackWeight, WritesTheBitsOfConversionAndReorder) {
  for (const Case& c : cases()) {
    const Desc desc = layout_of(c);
    const auto layout = onednn::blocked_layout(desc);
    ASSERT_TRUE(layout) << c.name;
    for (const DType source : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn}) {
      const Tensor weight = to_dtype(random_tensor(c.weight, 5), source);
      ASSERT_TRUE(can_pack(weight.dtype(), c.axes, *layout, c.dtype)) << c.name;
      Tensor packed = Tensor::empty({static_cast<int64_t>(desc.get_size())}, DType::u8);
      std::memset(packed.mutable_bytes(), 0xAB, packed.size_bytes());
      pack_weight(weight, c.axes, *layout, c.dtype, packed.mutable_bytes());
      const std::vector<std::byte> want = reordered(c, weight, desc);
      EXPECT_EQ(std::memcmp(packed.bytes(), want.data(), want.size()), 0) << c.name << " from " << to_string(source);
    }
  }
}

// Rows of a tensor, as if they were made for the moment; `broken`: the row that cannot be made.
class Rows final : public RowSource {
 public:
  explicit Rows(Tensor tensor, int64_t broken = -1) : tensor_(std::move(tensor)), broken_(broken) {}
  const Shape& shape() const override { return tensor_.shape(); }
  void tile(const Tile& tile, const TileValues& out) const override {
    if (tile.first_row <= broken_ && broken_ < tile.first_row + tile.rows) throw Error(ErrorCode::corrupt, "rows: broken");
    copy_to_f32(tensor_, tile, out);
  }

 private:
  Tensor tensor_;
  int64_t broken_;
};

TEST(PackWeight, MakesRowsOnTheWayWithTheBitsOfTheWholeWeight) {
  for (const Case& c : cases()) {
    const Desc desc = layout_of(c);
    const auto layout = onednn::blocked_layout(desc);
    ASSERT_TRUE(layout) << c.name;
    const Tensor weight = random_tensor(c.weight, 5);
    Tensor packed = Tensor::empty({static_cast<int64_t>(desc.get_size())}, DType::u8);
    std::memset(packed.mutable_bytes(), 0xAB, packed.size_bytes());
    pack_weight({std::make_shared<const Rows>(weight)}, c.axes, *layout, c.dtype, packed.mutable_bytes());
    const std::vector<std::byte> want = reordered(c, weight, desc);
    EXPECT_EQ(std::memcmp(packed.bytes(), want.data(), want.size()), 0) << c.name;
  }
}

bool same_bytes(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0; }

TEST(PackWeight, LayersOfMadeRowsAreThoseOfTheWholeWeight) {
  Context context{.dtype = DType::f32};
  const Tensor weight = random_tensor({70, 33}, 1), x = random_tensor({5, 33}, 2), image = random_tensor({1, 6, 5, 3}, 4);
  const auto forward = [&](const WeightSource& source) { return Linear::create(source, Tensor(), DType::f32)->forward(context, x); };
  EXPECT_TRUE(same_bytes(forward(weight), forward({std::make_shared<const Rows>(weight)})));
  for (const int64_t taps : {1, 3}) {
    const Tensor kernel = random_tensor({20, 3, taps, taps}, 3);
    const auto convolve = [&](const WeightSource& source) {
      return Conv2d::create(source, Tensor(), ConvGeometry{}, DType::f32)->forward(context, image);
    };
    EXPECT_TRUE(same_bytes(convolve(kernel), convolve({std::make_shared<const Rows>(kernel)}))) << taps;
  }
}

TEST(PackWeight, AFaultInARowReachesTheCallerEachTime) {
  Context context{.dtype = DType::f32};
  const auto layer = Linear::create({std::make_shared<const Rows>(random_tensor({70, 33}, 1), 68)}, Tensor(), DType::f32);
  for (int attempt = 0; attempt < 2; ++attempt) EXPECT_THROW(layer->forward(context, random_tensor({5, 33}, 2)), Error);
}

TEST(PackWeight, MultipliesByTheScaleOfAnFp8Weight) {
  const Case c = cases().front();
  const auto layout = onednn::blocked_layout(layout_of(c));
  const Tensor plain = to_dtype(random_tensor(c.weight, 6), DType::f8_e4m3fn), scaled = plain.with_scale(0.5F);
  std::vector<std::byte> want = reordered(c, scaled, layout_of(c));
  ASSERT_NE(want, reordered(c, plain, layout_of(c)));
  Tensor packed = Tensor::empty({static_cast<int64_t>(want.size())}, DType::u8);
  pack_weight(scaled, c.axes, *layout, c.dtype, packed.mutable_bytes());
  EXPECT_EQ(std::memcmp(packed.bytes(), want.data(), want.size()), 0);
}

TEST(PackWeight, LeavesLayoutsAloneThatAreNotWholeVectorsOfBlocks) {
  const Tensor weight = random_tensor({8, 16}, 1);
  const WeightAxes axes{.out = 1, .in = 0};
  const auto plain = onednn::blocked_layout(Desc({16, 8}, onednn::data_type(DType::f32), Tag::ab));
  ASSERT_TRUE(plain);
  EXPECT_FALSE(can_pack(weight.dtype(), axes, *plain, DType::f32));
  const auto blocked = onednn::blocked_layout(Desc({16, 8}, onednn::data_type(DType::f32), Tag::BA16a64b));
  ASSERT_TRUE(blocked);
  EXPECT_TRUE(can_pack(weight.dtype(), axes, *blocked, DType::f32));
  EXPECT_FALSE(can_pack(weight.dtype(), axes, *blocked, DType::f16));
}

}  // namespace
}  // namespace veneer::compute
