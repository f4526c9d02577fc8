// What attention promises beyond values near the reference's (ops_test.cc).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "compute/attention_matmul.h"
#include "compute/cpu.h"
#include "compute/kernel_isa.h"
#include "compute/ops.h"
#include "compute/reference/reference.h"
#include "compute/test_data.h"

namespace veneer::compute {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A NaN with bits in its payload, as computations hand them on.
float odd_nan() {
  const uint32_t bits = 0x7FC12345U;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Whether rows [first, first + count) of y are no numbers in all elements, and the others are numbers.
bool only_rows_are_nan(const Tensor& y, int64_t first, int64_t count) {
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    const int64_t row = i / y.dim(2);
    if (std::isnan(y.data<float>()[i]) != (row >= first && row < first + count)) return false;
  }
  return true;
}

TEST(Attention, QueriesThatAreNoNumbersMakeTheirResultsSo) {
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    for (const float bad : {std::nanf(""), odd_nan(), kInfinity, -kInfinity}) {
      Tensor q = random_tensor({1, 70, 24}, 1);
      const Tensor k = random_tensor({1, 300, 24}, 2), v = random_tensor({1, 300, 24}, 3);
      q.mutable_data<float>()[51 * 24 + 7] = bad;
      Context context;
      EXPECT_TRUE(only_rows_are_nan(attention(context, {q}, {k}, {v}, {1, 24}), 51, 1)) << bad << " on " << isa;
    }
  }
}

TEST(Attention, KeysAndValuesThatAreNoNumbersReachEveryQueryThatSeesThem) {
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    for (const float bad : {std::nanf(""), odd_nan()}) {
      const Tensor q = random_tensor({1, 70, 24}, 1);
      Tensor k = random_tensor({1, 300, 24}, 2), v = random_tensor({1, 300, 24}, 3);
      k.mutable_data<float>()[151 * 24 + 23] = bad;
      Context context;
      EXPECT_TRUE(only_rows_are_nan(attention(context, {q}, {k}, {v}, {1, 24}), 0, 70)) << isa;
      k = random_tensor({1, 300, 24}, 2);
      v.mutable_data<float>()[299 * 24 + 11] = bad;
      const Tensor y = attention(context, {q}, {k}, {v}, {1, 24});
      for (int64_t i = 0; i < y.num_elements(); ++i) EXPECT_EQ(std::isnan(y.data<float>()[i]), i % 24 == 11) << isa;
    }
  }
}

// A key whose score is minus infinity counts for nothing, but where all are that there is no answer.
TEST(Attention, ScoresOfMinusInfinityTakeNoPart) {
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    const int64_t keys = 400;
    Tensor q = random_tensor({1, 3, 8}, 1), k = random_tensor({1, keys, 8}, 2), v = random_tensor({1, keys, 8}, 3);
    // Queries have 1 in their first channel and the others' score is in the other channels.
    for (int64_t i = 0; i < 3; ++i) q.mutable_data<float>()[i * 8] = 1;
    for (int64_t j = 0; j < keys - 1; ++j) k.mutable_data<float>()[j * 8] = -kInfinity;
    Context context;
    const Tensor one = attention(context, {q}, {k}, {v}, {1, 8});
    for (int64_t i = 0; i < 24; ++i) EXPECT_FLOAT_EQ(one.data<float>()[i], v.data<float>()[(keys - 1) * 8 + i % 8]) << isa;
    k.mutable_data<float>()[(keys - 1) * 8] = -kInfinity;
    EXPECT_TRUE(only_rows_are_nan(attention(context, {q}, {k}, {v}, {1, 8}), 0, 3)) << isa;
  }
}

TEST(Attention, LaterTokensDoNotReachEarlierOnes) {
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    const Tensor q = random_tensor({1, 200, 16}, 1), v = Tensor::zeros({1, 200, 16}, DType::f32);
    const Tensor k = random_tensor({1, 200, 16}, 2);
    Tensor late = Tensor::zeros({1, 200, 16}, DType::f32);
    // Even the smallest weight of such a value would show next to zeros.
    for (int64_t i = 150 * 16; i < 200 * 16; ++i) late.mutable_data<float>()[i] = 1e38F;
    Context context;
    const Tensor y = attention(context, {q}, {k}, {late}, {1, 16, true});
    EXPECT_EQ(std::memcmp(y.bytes(), v.bytes(), 150 * 16 * sizeof(float)), 0) << isa;
    EXPECT_NE(y.data<float>()[150 * 16], 0) << isa;
  }
}

TEST(Attention, BitsOfAQueryDoNotDependOnItsNeighbours) {
  const Tensor q = random_tensor({1, 401, 2 * 40}, 1), k = random_tensor({1, 333, 2 * 40}, 2), v = random_tensor({1, 333, 2 * 40}, 3);
  Context context;
  const Tensor all = attention(context, {q}, {k}, {v}, {2, 40});
  for (const int64_t query : {0, 47, 48, 200, 399, 400}) {
    Tensor one = Tensor::empty({1, 1, 80}, DType::f32);
    std::memcpy(one.mutable_bytes(), q.data<float>() + query * 80, 80 * sizeof(float));
    const Tensor y = attention(context, {one}, {k}, {v}, {2, 40});
    EXPECT_EQ(std::memcmp(y.bytes(), all.data<float>() + query * 80, y.size_bytes()), 0) << query;
  }
}

// So many keys that their rows are gathered first, from a certain number of queries on.
TEST(Attention, GatheredKeysGiveTheSameBits) {
  const Tensor q = random_tensor({1, 1024, 128}, 1), k = random_tensor({1, 1030, 130}, 2), v = random_tensor({1, 1030, 130}, 3);
  Tensor fewer = Tensor::empty({1, 1000, 128}, DType::f32);
  std::memcpy(fewer.mutable_bytes(), q.bytes(), fewer.size_bytes());
  Context context;
  const Tensor all = attention(context, {q}, {k, 2}, {v, 1}, {1, 128}), some = attention(context, {fewer}, {k, 2}, {v, 1}, {1, 128});
  EXPECT_EQ(std::memcmp(all.bytes(), some.bytes(), some.size_bytes()), 0);
}

// The way of CPUs with AMX, which oneDNN's other kernels can go as well.
TEST(AttentionByMatmuls, EqualsTheReferenceWithAnyNumberOfThreads) {
  if (!bf16_supported()) GTEST_SKIP() << "oneDNN has no bf16 on this CPU";
  struct Case {
    int64_t n, tq, tk;
    AttentionShape shape;
  };
  const int before = num_threads();
  for (const Case& c : {Case{2, 64, 77, {8, 40}}, Case{1, 77, 77, {3, 64, true}}, Case{1, 300, 1100, {2, 16}}, Case{1, 130, 1, {1, 160}},
                        Case{2, 257, 513, {1, 40, true}}, Case{1, 33, 65, {2, 8, false, -2.0F}}, Case{1, 3, 900, {1, 512}}}) {
    const int64_t width = c.shape.heads * c.shape.head_dim;
    const Tensor q = random_tensor({c.n, c.tq, width + 3}, 1), k = random_tensor({c.n, c.tk, 2 * width}, 2), v = random_tensor({c.n, c.tk, width}, 3);
    const Tensor fq = to_dtype(q, DType::bf16), fk = to_dtype(k, DType::bf16), fv = to_dtype(v, DType::bf16);
    const Tensor rq = to_dtype(fq, DType::f32), rk = to_dtype(fk, DType::f32), rv = to_dtype(fv, DType::f32);
    const Tensor want = reference::attention({rq, 3}, {rk, width}, {rv}, c.shape);
    for (const std::string_view isa : runnable_kernel_isas()) {
      const KernelIsaGuard guard(isa);
      Context context{.dtype = DType::bf16};
      Tensor one = Tensor::empty({c.n, c.tq, width}, DType::bf16), three = Tensor::empty({c.n, c.tq, width}, DType::bf16);
      set_num_threads(1);
      attention_by_matmuls(context, {fq, 3}, {fk, width}, {fv}, c.shape, one);
      set_num_threads(3);
      attention_by_matmuls(context, {fq, 3}, {fk, width}, {fv}, c.shape, three);
      set_num_threads(before);
      EXPECT_LE(max_error(one, want), 1e-2) << c.tq << " x " << c.tk << " on " << isa;
      EXPECT_EQ(std::memcmp(one.bytes(), three.bytes(), one.size_bytes()), 0) << c.tq << " x " << c.tk << " on " << isa;
    }
  }
}

}  // namespace
}  // namespace veneer::compute
