#include "tensor/stochastic_rounding.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer {
namespace {

Tensor filled(int64_t count, float value) { return Tensor::from({count}, std::vector<float>(static_cast<size_t>(count), value)); }

double mean(const Tensor& t) {
  const Tensor f = to_dtype(t, DType::f32);
  double sum = 0;
  for (const float v : f.floats()) sum += static_cast<double>(v);
  return sum / static_cast<double>(f.num_elements());
}

TEST(StochasticRounding, SeedIsTheCrc32OfTheCodePoints) {
  EXPECT_EQ(string_to_seed(""), 0U);
  EXPECT_EQ(string_to_seed("a"), 0xe8b7be43U);
  EXPECT_EQ(string_to_seed("123456789"), 0xcbf43926U);
  EXPECT_EQ(string_to_seed("\xc3\xa9"), string_to_seed("\xe9"));  // U+00E9, and the byte that is no UTF-8
  EXPECT_NE(string_to_seed("\xe6\x97\xa5"), string_to_seed("\xe6\x97"));
}

TEST(StochasticRounding, KeepsTheMeanThatNearestRoundingLoses) {
  const Tensor value = filled(64 * 64, 1.05F);
  EXPECT_EQ(mean(to_dtype(value, DType::f8_e4m3fn)), 1.0);
  EXPECT_NEAR(mean(stochastic_round(value, DType::f8_e4m3fn, 1)), 1.05, 0.005);
  EXPECT_NEAR(mean(stochastic_round(filled(64 * 64, -1.05F), DType::f8_e5m2, 2)), -1.05, 0.01);
}

TEST(StochasticRounding, SameSeedGivesTheSameBytes) {
  const Tensor value = filled(1000, 0.3F);
  const Tensor a = stochastic_round(value, DType::f8_e4m3fn, 5), b = stochastic_round(value, DType::f8_e4m3fn, 5);
  EXPECT_EQ(std::memcmp(a.bytes(), b.bytes(), a.size_bytes()), 0);
  const Tensor c = stochastic_round(value, DType::f8_e4m3fn, 6);
  EXPECT_NE(std::memcmp(a.bytes(), c.bytes(), a.size_bytes()), 0);
  // Only the low half of the seed counts.
  const Tensor d = stochastic_round(value, DType::f8_e4m3fn, (uint64_t{7} << 32) | 5);
  EXPECT_EQ(std::memcmp(a.bytes(), d.bytes(), a.size_bytes()), 0);
}

TEST(StochasticRounding, RepresentableValuesStayWhatTheyAre) {
  std::vector<float> exact;
  for (int bits = 0; bits < 256; ++bits) {
    const float v = f8_e4m3fn_to_f32(static_cast<uint8_t>(bits));
    if (!std::isnan(v)) exact.push_back(v);
  }
  const Tensor value = Tensor::from({static_cast<int64_t>(exact.size())}, exact);
  const Tensor back = to_dtype(stochastic_round(value, DType::f8_e4m3fn, 3), DType::f32);
  for (size_t i = 0; i < exact.size(); ++i) EXPECT_EQ(back.floats()[i], exact[i]);
}

TEST(StochasticRounding, TheDrawDecidesBetweenTheTwoNeighbours) {
  const Tensor value = Tensor::from({2}, std::array<float, 2>{1.03125F, 1.03125F});  // a quarter of the way to 1.125
  const std::array<float, 2> draws = {0.7F, 0.76F};
  const Tensor got = to_dtype(stochastic_round(value, DType::f8_e4m3fn, draws), DType::f32);
  EXPECT_EQ(got.floats()[0], 1.0F);
  EXPECT_EQ(got.floats()[1], 1.125F);
}

TEST(StochasticRounding, ClampsWhatIsTooLargeAndKeepsNan) {
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor value = Tensor::from({4}, std::array<float, 4>{1e6F, -inf, std::nanf(""), -0.0F});
  const Tensor got = to_dtype(stochastic_round(value, DType::f8_e4m3fn, 0), DType::f32);
  EXPECT_EQ(got.floats()[0], 448.0F);
  EXPECT_EQ(got.floats()[1], -448.0F);
  EXPECT_TRUE(std::isnan(got.floats()[2]));
  EXPECT_EQ(got.floats()[3], 0.0F);
}

TEST(StochasticRounding, RefusesOtherTargetsAndAWrongNumberOfDraws) {
  const Tensor value = filled(4, 1);
  EXPECT_THROW(stochastic_round(value, DType::f16, 0), Error);
  EXPECT_THROW(stochastic_round(value, DType::f8_e5m2, std::vector<float>(3)), Error);
}

}  // namespace
}  // namespace veneer
