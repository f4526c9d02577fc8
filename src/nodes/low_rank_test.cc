#include "nodes/low_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "compute/test_data.h"
#include "veneer/error.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;

// a [m, k] @ b [k, n], summed in double.
Tensor product(const Tensor& a, const Tensor& b) {
  const int64_t m = a.dim(0), k = a.dim(1), n = b.dim(1);
  Tensor out = Tensor::empty({m, n}, DType::f32);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t x = 0; x < k; ++x) sum += double{a.data<float>()[i * k + x]} * double{b.data<float>()[x * n + j]};
      out.mutable_data<float>()[i * n + j] = static_cast<float>(sum);
    }
  }
  return out;
}

double norm(const Tensor& a) {
  double sum = 0;
  for (const float v : a.floats()) sum += double{v} * double{v};
  return std::sqrt(sum);
}

// |a - pair| / |a|
double relative_error(const Tensor& a, const LowRankPair& pair) {
  Tensor rest = product(pair.up, pair.down);
  for (size_t i = 0; i < a.floats().size(); ++i) rest.mutable_floats()[i] = a.floats()[i] - rest.floats()[i];
  return norm(rest) / norm(a);
}

Tensor of_rank(int64_t m, int64_t n, int64_t rank, uint32_t seed) {
  return product(random_tensor({m, rank}, seed, 1.0F), random_tensor({rank, n}, seed + 1, 1.0F));
}

TEST(LowRank, IsExactForAMatrixOfThatRank) {
  // Small ones are decomposed whole, the others searched; tall, wide, and more than one block each way.
  for (const auto& [m, n] : {std::pair{6, 9}, std::pair{40, 30}, std::pair{300, 120}, std::pair{120, 700}, std::pair{320, 320}}) {
    const Tensor a = of_rank(m, n, 4, 1);
    const LowRankPair pair = low_rank_pair(a, 4);
    EXPECT_EQ(pair.up.shape(), Shape({m, 4}));
    EXPECT_EQ(pair.down.shape(), Shape({4, n}));
    EXPECT_LT(relative_error(a, pair), 1e-6) << m << " x " << n;
  }
}

TEST(LowRank, TheSearchIsAsGoodAsTheWholeDecomposition) {
  // Uniform noise: no direction stands out, the worst case for a search. Asked for most of its rank, the same matrix is decomposed whole; that pair's
  // first components are the best of rank 8.
  const Tensor a = random_tensor({150, 200}, 3, 1.0F);
  const LowRankPair whole = low_rank_pair(a, 140);
  Tensor up = Tensor::empty({150, 8}, DType::f32);
  for (int64_t i = 0; i < 150; ++i) std::memcpy(up.mutable_data<float>() + i * 8, whole.up.data<float>() + i * 140, 8 * sizeof(float));
  const double best = relative_error(a, {up, whole.down.slice(0, 8)});
  const double found = relative_error(a, low_rank_pair(a, 8));
  EXPECT_GE(found, best * (1 - 1e-6));
  EXPECT_LE(found, best * 1.01);
}

TEST(LowRank, ARankBeyondTheMatrixIsTheMatrix) {
  const Tensor a = random_tensor({5, 7}, 1, 1.0F);
  const LowRankPair pair = low_rank_pair(a, 4096);
  EXPECT_EQ(pair.up.shape(), Shape({5, 5}));
  EXPECT_LT(relative_error(a, pair), 1e-6);
}

TEST(LowRank, BothFactorsHaveTheSameSize) {
  const Tensor a = of_rank(200, 90, 3, 5);
  const LowRankPair pair = low_rank_pair(a, 3);
  EXPECT_NEAR(norm(pair.up), norm(pair.down), 1e-3 * norm(pair.up));
}

TEST(LowRank, GivesTheSameBitsWhateverTheThreads) {
  const Tensor a = random_tensor({300, 600}, 7, 1.0F);
  const LowRankPair many = low_rank_pair(a, 8);
  set_num_threads(1);
  const LowRankPair one = low_rank_pair(a, 8);
  set_num_threads(0);
  EXPECT_EQ(std::memcmp(many.up.bytes(), one.up.bytes(), one.up.size_bytes()), 0);
  EXPECT_EQ(std::memcmp(many.down.bytes(), one.down.bytes(), one.down.size_bytes()), 0);
}

TEST(LowRank, ZeroAndTinyMatricesStayFinite) {
  for (const Tensor& a : {Tensor::zeros({90, 80}, DType::f32), Tensor::zeros({1, 1}, DType::f32), random_tensor({100, 90}, 1, 1e-30F)}) {
    const LowRankPair pair = low_rank_pair(a, 4);
    for (const float v : pair.up.floats()) EXPECT_TRUE(std::isfinite(v));
    for (const float v : pair.down.floats()) EXPECT_TRUE(std::isfinite(v));
  }
}

TEST(LowRank, RefusesWhatIsNoMatrixOfNumbers) {
  Tensor broken = random_tensor({4, 4}, 1, 1.0F);
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    broken.mutable_floats()[5] = value;
    EXPECT_THROW(low_rank_pair(broken, 2), Error);
  }
  EXPECT_THROW(low_rank_pair(random_tensor({4, 4}, 1, 1.0F), 0), Error);
  EXPECT_THROW(low_rank_pair(random_tensor({4, 4}, 1, 1.0F), -3), Error);
  EXPECT_THROW(low_rank_pair(random_tensor({4}, 1, 1.0F), 2), Error);
  EXPECT_THROW(low_rank_pair(Tensor::zeros({0, 4}, DType::f32), 2), Error);
}

}  // namespace
}  // namespace veneer::nodes
