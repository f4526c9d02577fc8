#include "compute/operation_cache.h"

#include <gtest/gtest.h>

#include "compute/packed_layer.h"
#include "compute/test_data.h"
#include "compute/weights.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using onednn::Desc;
using onednn::Tag;

const auto kF32 = dnnl::memory::data_type::f32;

onednn::Operation compile(int64_t rows, int64_t in, int64_t out, const Desc& weights) {
  return onednn::compile(onednn::MatmulDescs{Desc({rows, in}, kF32, Tag::ab), weights, Desc(), Desc({rows, out}, kF32, Tag::ab)}, {}, 1);
}

TEST(OperationCache, CompilesOnceForAKeyAndALayout) {
  OperationCache cache;
  int compiled = 0;
  const auto get = [&](int64_t rows, const Desc& weights) {
    const OperationKey key{.in = 64, .out = 128, .batch = rows};
    return cache.get(key, weights, [&](const Desc& layout) {
      ++compiled;
      return compile(rows, 64, 128, layout);
    });
  };
  const Desc any({64, 128}, kF32, Tag::any), plain({64, 128}, kF32, Tag::ab);
  const auto first = get(4, any);
  EXPECT_EQ(get(4, any), first);
  EXPECT_EQ(compiled, 1);
  EXPECT_NE(get(4, plain), first);
  EXPECT_NE(get(5, any), first);
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(get(4, any), first);
  EXPECT_EQ(compiled, 3);
}

TEST(OperationCache, KeysDifferInEachOfTheirParts) {
  OperationCache cache;
  const Desc any({8, 8}, kF32, Tag::any);
  const OperationKey plain{.in = 8, .out = 8, .batch = 8};
  std::vector<OperationKey> keys(7, plain);
  keys[1].bias = true;
  keys[2].kernel_width = 3;
  keys[3].geometry.pad_left = 1;
  keys[4].epilogue.residual = true;
  keys[5].threads = 2;
  keys[6].convolution = true;
  std::vector<std::shared_ptr<const onednn::Operation>> operations;
  operations.reserve(keys.size());
  for (const OperationKey& key : keys) operations.push_back(cache.get(key, any, [](const Desc& weights) { return compile(8, 8, 8, weights); }));
  for (size_t i = 1; i < operations.size(); ++i) EXPECT_NE(operations[i], operations[0]) << i;
}

TEST(OperationCache, AFailedCompilationLeavesNothing) {
  OperationCache cache;
  const Desc any({8, 8}, kF32, Tag::any);
  const OperationKey key{.in = 8, .out = 8, .batch = 8};
  EXPECT_THROW(cache.get(key, any, [](const Desc&) -> onednn::Operation { throw Error(ErrorCode::unsupported, "no"); }), Error);
  EXPECT_NE(cache.get(key, any, [](const Desc& weights) { return compile(8, 8, 8, weights); }), nullptr);
}

TEST(OperationCache, LayersWithAndWithoutOneGiveTheSameBits) {
  Context alone, shared{.operations = make_operation_cache()};
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    const Tensor weight = random_tensor({96, 64}, seed), x = random_tensor({7, 64}, seed + 10);
    const Tensor a = Linear::create(weight, {}, DType::f32)->forward(alone, x), b = Linear::create(weight, {}, DType::f32)->forward(shared, x);
    EXPECT_EQ(max_error(a, b), 0);
  }
}

}  // namespace
}  // namespace veneer::compute
