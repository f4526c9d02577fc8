// Values of each kind of block are compared with the reference's in src/formats/gguf_test.cc.
#include "tensor/quantised_blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tensor/convert.h"
#include "tensor/tensor.h"
#include "veneer/error.h"

namespace veneer {
namespace {

std::vector<float> waves(size_t count) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = std::sin(static_cast<float>(i) * 0.7F) * (1 + static_cast<float>(i % 5));
  return out;
}

class Quantise : public ::testing::TestWithParam<std::pair<DType, float>> {};

TEST_P(Quantise, ValuesComeBackWithinHalfAStep) {
  const auto [dtype, tolerance] = GetParam();
  const std::vector<float> values = waves(96);
  std::vector<std::byte> blocks(storage_bytes(dtype, values.size()));
  quantise_blocks(dtype, values, blocks.data());
  std::vector<float> back(values.size());
  dequantise_blocks(dtype, blocks.data(), values.size() / block_size(dtype).elements, back.data());
  for (size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(back[i], values[i], tolerance) << i;
}

// Half a step of blocks whose values reach from -5 to 5; the widest value of a symmetric block may be cut by a whole one.
INSTANTIATE_TEST_SUITE_P(DTypes, Quantise,
                         ::testing::Values(std::pair(DType::q8_0, 0.021F), std::pair(DType::q5_1, 0.17F), std::pair(DType::q5_0, 0.33F),
                                           std::pair(DType::q4_1, 0.35F), std::pair(DType::q4_0, 0.66F)));

TEST(QuantisedBlocks, ZerosStayZeros) {
  const std::vector<float> zeros(32);
  for (const DType dtype : {DType::q8_0, DType::q5_1, DType::q5_0, DType::q4_1, DType::q4_0}) {
    std::vector<std::byte> block(block_size(dtype).bytes);
    quantise_blocks(dtype, zeros, block.data());
    std::vector<float> back(32, 1.0F);
    dequantise_blocks(dtype, block.data(), 1, back.data());
    EXPECT_EQ(back, zeros) << to_string(dtype);
  }
}

TEST(QuantisedBlocks, OnlySomeKindsAreWritten) {
  std::vector<std::byte> out(144);
  EXPECT_THROW(quantise_blocks(DType::q4_k, std::vector<float>(256), out.data()), Error);
  EXPECT_FALSE(can_quantise(DType::f32));
}

TEST(QuantisedTensor, CountsBytesByBlock) {
  const Tensor tensor = Tensor::zeros({3, 64}, DType::q4_0);
  EXPECT_EQ(tensor.size_bytes(), 3u * 2 * 18);
  EXPECT_EQ(tensor.plain_dtype(), DType::f32);
  EXPECT_THROW(Tensor::zeros({3, 5}, DType::q4_0), Error);
  EXPECT_THROW((void)size_of(DType::q4_0), Error);
}

TEST(QuantisedTensor, SlicesThatCutABlockAreRefused) {
  const Tensor tensor = Tensor::zeros({8, 8}, DType::q8_0);
  EXPECT_EQ(tensor.slice(4, 4).size_bytes(), 34u);
  EXPECT_THROW((void)tensor.slice(1, 4), Error);
}

TEST(QuantisedTensor, IsNoTargetOfAConversion) {
  const Tensor tensor = Tensor::zeros({32}, DType::f32);
  EXPECT_THROW((void)to_dtype(tensor, DType::q8_0), Error);
}

TEST(ScaledTensor, ConversionsGiveTrueValues) {
  Tensor stored = Tensor::empty({2}, DType::f8_e4m3fn);
  copy_from_f32(std::vector<float>{256, -2}, DType::f8_e4m3fn, stored.mutable_bytes());
  const Tensor scaled = stored.with_scale(0.001F);
  const Tensor values = to_dtype(scaled, DType::f32);
  EXPECT_FLOAT_EQ(values.floats()[0], 0.256F);
  EXPECT_FLOAT_EQ(values.floats()[1], -0.002F);
  EXPECT_EQ(scaled.plain_dtype(), DType::f32);
  EXPECT_EQ(scaled.clone().scale(), 0.001F);
  EXPECT_EQ(scaled.slice(1, 1).scale(), 0.001F);
  EXPECT_EQ(to_dtype(scaled, DType::f8_e4m3fn).scale(), 1.0F) << "the result stands for itself";
}

TEST(ScaledTensor, ScalesAreChecked) {
  const Tensor stored = Tensor::zeros({2}, DType::f8_e5m2);
  EXPECT_THROW((void)stored.with_scale(0), Error);
  EXPECT_THROW((void)stored.with_scale(-1), Error);
  EXPECT_THROW((void)stored.with_scale(INFINITY), Error);
  EXPECT_THROW((void)Tensor::zeros({2}, DType::f16).with_scale(2), Error);
}

}  // namespace
}  // namespace veneer
