#include "patch/matmul.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "patch/testing/patch_testing.h"

namespace veneer::patch {
namespace {

using testing::expect_near;
using testing::random_tensor;
using testing::same_bits;

Tensor product(const Tensor& a, const Tensor& b) {
  Tensor c = Tensor::empty({a.dim(0), b.dim(1)}, DType::f32);
  matmul(a.data<float>(), b.data<float>(), c.mutable_data<float>(), static_cast<size_t>(a.dim(0)), static_cast<size_t>(b.dim(0)),
         static_cast<size_t>(b.dim(1)));
  return c;
}

TEST(Matmul, AddsAProductWithTheBitsOfThreeSteps) {
  for (const auto& [m, k, n] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1}, {3, 5, 7}, {4, 16, 64}, {33, 4, 515}, {70, 3, 1030}}) {
    const Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2), start = random_tensor({m, n}, 3), c = product(a, b);
    Tensor want = start.clone(), got = start.clone();
    for (int64_t i = 0; i < m * n; ++i) want.mutable_floats()[static_cast<size_t>(i)] += 0.3F * c.floats()[static_cast<size_t>(i)];
    // In four tiles.
    for (const auto& [first_row, rows] : {std::pair{int64_t{0}, m / 2}, std::pair{m / 2, m - m / 2}}) {
      for (const auto& [first_column, columns] : {std::pair{int64_t{0}, n / 3}, std::pair{n / 3, n - n / 3}}) {
        add_product(a.data<float>() + first_row * k, static_cast<size_t>(k), b.data<float>() + first_column, static_cast<size_t>(n), 0.3F,
                    {first_row, rows, first_column, columns}, {got.mutable_data<float>() + first_row * n + first_column, n});
      }
    }
    EXPECT_TRUE(same_bits(got, want)) << m << " " << k << " " << n;
  }
}

TEST(Matmul, AgreesWithTheSlowProductAtAllEdges) {
  for (const auto& [m, k, n] : std::vector<std::tuple<int64_t, int64_t, int64_t>>{{1, 1, 1}, {3, 5, 7}, {4, 16, 64}, {33, 4, 515}, {70, 3, 1030}}) {
    const Tensor a = random_tensor({m, k}, 1), b = random_tensor({k, n}, 2);
    expect_near(product(a, b), testing::slow_product(a, b), 1e-5F);
  }
}

TEST(Matmul, EveryInstructionSetWithFusedMultiplyAddGivesTheSameBits) {
  const Tensor a = random_tensor({37, 19}, 3), b = random_tensor({19, 531}, 4);
  Tensor want = Tensor::zeros({37, 531}, DType::f32);
  for (int64_t row = 0; row < 37; ++row) {
    for (int64_t column = 0; column < 531; ++column) {
      float& sum = want.mutable_data<float>()[row * 531 + column];
      for (int64_t i = 0; i < 19; ++i) sum = std::fma(a.data<float>()[row * 19 + i], b.data<float>()[i * 531 + column], sum);
    }
  }
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const Tensor got = product(a, b);
    // Targets are numbered from the best down.
    if (target <= HWY_AVX2) {
      EXPECT_TRUE(same_bits(got, want)) << hwy::TargetName(target);
    } else {
      expect_near(got, want, 1e-5F);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST(Matmul, AnEmptyInnerExtentGivesZeros) {
  Tensor c = random_tensor({2, 3}, 5);
  matmul(nullptr, nullptr, c.mutable_data<float>(), 2, 0, 3);
  for (const float v : c.floats()) EXPECT_EQ(v, 0.0F);
}

}  // namespace
}  // namespace veneer::patch
