// Values of each kind of block are compared with the reference's in src/formats/gguf_test.cc.
#include "tensor/quantised_blocks.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
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

constexpr auto kAllBlocks = std::to_array<DType>(
    {DType::q8_0, DType::q5_1, DType::q5_0, DType::q4_1, DType::q4_0, DType::q6_k, DType::q5_k, DType::q4_k, DType::q3_k, DType::q2_k});

std::vector<float> there_and_back(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> blocks(storage_bytes(dtype, values.size()), std::byte{0xff});  // writers leave nothing of what was there
  quantise_blocks(dtype, values, blocks.data());
  std::vector<float> back(values.size());
  dequantise_blocks(dtype, blocks.data(), values.size() / block_size(dtype).elements, back.data());
  return back;
}

// The rounding of q8_0 in plain words, over values on halves, beside them, and too small for a scale.
TEST(QuantisedBlocks, Q8RoundsHalfAwayFromZero) {
  std::vector<float> values;
  for (const float top : {127.0F, 1.0F, 3.7e-5F, 9e3F, 1e-41F}) {
    for (int i = 0; i < 128; ++i) {
      const float on_half = (static_cast<float>(i - 64) + 0.5F) * top / 127.0F;
      values.push_back(i % 32 == 0 ? -top : i % 3 == 0 ? std::nextafter(on_half, 0.0F) : on_half);
    }
  }
  values.insert(values.end(), {0.49999997F, -0.49999997F, 0.5F, -0.5F});
  values.resize(values.size() + 27);
  values.push_back(127.0F);
  std::vector<std::byte> blocks(storage_bytes(DType::q8_0, values.size()));
  quantise_blocks(DType::q8_0, values, blocks.data());
  for (size_t block = 0; block * 32 < values.size(); ++block) {
    const float* const x = values.data() + block * 32;
    float largest = 0;
    for (size_t j = 0; j < 32; ++j) largest = std::max(largest, std::abs(x[j]));
    const float d = largest / 127.0F, inverse = largest > 1e-30F ? 1.0F / d : 0.0F;
    const std::byte* const got = blocks.data() + block * 34;
    EXPECT_EQ(static_cast<unsigned>(got[0]) | static_cast<unsigned>(got[1]) << 8, f32_to_f16(d)) << block;
    for (size_t j = 0; j < 32; ++j) {
      EXPECT_EQ(static_cast<int>(static_cast<int8_t>(got[2 + j])), static_cast<int>(std::round(x[j] * inverse))) << block << " " << j;
    }
  }
}

TEST(QuantisedBlocks, ZerosStayZeros) {
  const std::vector<float> zeros(256);
  for (const DType dtype : kAllBlocks) EXPECT_EQ(there_and_back(dtype, zeros), zeros) << to_string(dtype);
}

TEST(QuantisedBlocks, PlainDTypesHaveNoBlocks) {
  std::vector<std::byte> out(1024);
  EXPECT_THROW(quantise_blocks(DType::f16, std::vector<float>(256), out.data()), Error);
  EXPECT_FALSE(can_quantise(DType::f32));
}

// Root of the mean square of the differences, as a part of the values'.
double relative_error(const std::vector<float>& values, const std::vector<float>& back) {
  double differences = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    differences += std::pow(static_cast<double>(values[i]) - back[i], 2);
    squares += std::pow(static_cast<double>(values[i]), 2);
  }
  return std::sqrt(differences / squares);
}

// Sums of twelve uniform numbers, which are nearly normal.
std::vector<float> weights(size_t count) {
  std::vector<float> out(count);
  uint32_t state = 1;
  for (float& value : out) {
    float sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 1664525U + 1013904223U;
      sum += static_cast<float>(state >> 8) * 0x1p-24F;
    }
    value = (sum - 6) * 0.02F;
  }
  return out;
}

// Measured: 0.0172, 0.0350, 0.0709, 0.143, 0.262. Blocks of 32 that take as many bits or more are worse: q5_1 0.0378, q4_1 0.0781.
TEST(QuantisedBlocks, OfNormalWeightsTheErrorIsBounded) {
  struct Bound {
    DType dtype;
    double error;
  };
  const std::vector<float> values = weights(256 * 200);
  for (const auto& [dtype, error] :
       {Bound{DType::q6_k, 0.0180}, Bound{DType::q5_k, 0.0365}, Bound{DType::q4_k, 0.0740}, Bound{DType::q3_k, 0.150}, Bound{DType::q2_k, 0.275}}) {
    EXPECT_LT(relative_error(values, there_and_back(dtype, values)), error) << to_string(dtype);
  }
  EXPECT_LT(relative_error(values, there_and_back(DType::q5_k, values)), relative_error(values, there_and_back(DType::q5_1, values)));
  EXPECT_LT(relative_error(values, there_and_back(DType::q4_k, values)), relative_error(values, there_and_back(DType::q4_1, values)));
}

// Every part has a scale of its own: a large value spoils its part only.
TEST(QuantisedBlocks, LargeBlocksKeepPartsApart) {
  std::vector<float> values = weights(256);
  values[40] = 50;
  for (const DType dtype : {DType::q6_k, DType::q5_k, DType::q4_k}) {
    const std::vector<float> back = there_and_back(dtype, values);
    EXPECT_NEAR(back[40], 50, 1) << to_string(dtype);
    EXPECT_EQ(there_and_back(dtype, back).size(), back.size());
  }
}

TEST(QuantisedBlocks, ExtremesGiveFiniteValues) {
  std::vector<std::vector<float>> cases = {std::vector<float>(256, 65504),   std::vector<float>(256, -65504), std::vector<float>(256, 1e-30F),
                                           std::vector<float>(256, -1e-40F), std::vector<float>(256, -0.25F), std::vector<float>(256, 0.25F)};
  cases.push_back(cases[0]);
  for (size_t i = 0; i < 256; i += 2) cases.back()[i] = -65504;
  cases.emplace_back(256);
  cases.back()[255] = 1;
  for (const DType dtype : kAllBlocks) {
    for (const std::vector<float>& values : cases) {
      const std::vector<float> back = there_and_back(dtype, values);
      for (size_t i = 0; i < back.size(); ++i) {
        ASSERT_TRUE(std::isfinite(back[i])) << to_string(dtype);
        ASSERT_NEAR(back[i], values[i], 0.36F * std::abs(values[i]) + 1e-6F) << to_string(dtype) << " " << i;
      }
    }
  }
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
