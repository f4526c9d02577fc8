#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "veneer/error.h"

namespace veneer {
namespace {

TEST(Shape, CountsElementsAndPrints) {
  EXPECT_EQ(Shape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(Shape({2, 3, 4}).num_elements_from(1), 12);
  EXPECT_EQ(Shape().num_elements(), 1);
  EXPECT_EQ(Shape({1, 4}).to_string(), "[1, 4]");
  EXPECT_EQ(Shape({2, 3}).with(0, 5), Shape({5, 3}));
}

TEST(Shape, RefusesNegativeAndOverflowingExtents) {
  EXPECT_THROW(Shape({2, -1}), Error);
  EXPECT_THROW(Shape({INT64_MAX, 3}), Error);
  const std::array<int64_t, 9> nine = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THROW(Shape{std::span<const int64_t>(nine)}, Error);
}

TEST(Tensor, ViewsShareAndClonesDoNot) {
  Tensor a = Tensor::from({2, 2}, std::array<float, 4>{1, 2, 3, 4});
  Tensor row = a.slice(1, 1);
  EXPECT_EQ(row.shape(), Shape({1, 2}));
  EXPECT_EQ(row.floats()[0], 3);
  Tensor copy = a.clone();
  a.mutable_floats()[2] = 9;
  EXPECT_EQ(row.floats()[0], 9);
  EXPECT_EQ(copy.floats()[2], 3);
}

TEST(Tensor, SliceAndReshapeRefuseWhatDoesNotFit) {
  const Tensor a = Tensor::zeros({2, 3}, DType::f32);
  EXPECT_THROW(a.slice(1, 2), Error);
  EXPECT_THROW(a.slice(-1, 1), Error);
  EXPECT_THROW(a.reshape({5}), Error);
  EXPECT_EQ(a.reshape({3, 2}).dim(0), 3);
}

TEST(Tensor, LargeBlocksAreAlignedToHugePages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers watch the borders of malloc's blocks, so these come from there";
#endif
  const Tensor big = Tensor::empty({3 << 20}, DType::u8);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(big.bytes()) % (2U << 20), 0U);
}

TEST(Tensor, EmptyTensorsAreDefined) {
  const Tensor none = Tensor::zeros({0, 4}, DType::f32);
  EXPECT_TRUE(none.defined());
  EXPECT_EQ(none.size_bytes(), 0U);
  EXPECT_FALSE(Tensor().defined());
}

TEST(DType, NamesRoundTrip) {
  for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2, DType::i64, DType::u8, DType::boolean}) {
    EXPECT_EQ(dtype_from_string(to_string(d)), d);
  }
  EXPECT_THROW(dtype_from_string("float"), Error);
}

}  // namespace
}  // namespace veneer
