// Linear and Conv2d against the reference: every epilogue, odd shapes, both compute dtypes, every source dtype.
#include "compute/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "base/parallel.h"
#include "compute/cpu.h"
#include "compute/reference/reference.h"
#include "compute/test_data.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

constexpr Activation kActivations[] = {Activation::none, Activation::silu, Activation::gelu, Activation::quick_gelu};

// Values already rounded to `dtype`, so that the reference sees what the fast path sees.
struct Layer {
  Tensor weight, bias;
};

Layer layer(const Shape& shape, DType dtype, uint32_t seed) {
  const float spread = 1.0F / std::sqrt(static_cast<float>(shape.num_elements_from(1)));
  return {rounded(random_tensor(shape, seed, spread), dtype), random_tensor({shape[0]}, seed + 1)};
}

class WeightsTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (GetParam() == DType::bf16 && !bf16_supported()) GTEST_SKIP() << "no bf16 on this machine";
  }
  // f32 sums of some thousand products of order 1/sqrt(n); bf16 results carry 8 bits.
  double bound() const { return GetParam() == DType::f32 ? 2e-5 : 2e-2; }
};

TEST_P(WeightsTest, LinearEqualsTheReferenceForAllShapesAndEpilogues) {
  struct Case {
    int64_t rows, in, out;
  };
  for (const Case& c :
       {Case{1, 1, 1}, Case{1, 320, 640}, Case{2, 1280, 320}, Case{77, 768, 64}, Case{64, 40, 40}, Case{5, 7, 3}, Case{130, 33, 65}}) {
    const Layer l = layer({c.out, c.in}, GetParam(), 7);
    for (const Activation activation : kActivations) {
      // The reference is slow: large shapes meet one activation.
      if (c.rows * c.in * c.out > 100000 && activation != Activation::gelu) continue;
      for (const bool residual : {false, true}) {
        for (const bool bias : {false, true}) {
          const Tensor x = rounded(random_tensor({1, c.rows, c.in}, 3), GetParam());
          const Tensor r = rounded(random_tensor({1, c.rows, c.out}, 4), GetParam());
          const Tensor fast_r = to_dtype(r, GetParam());
          Context context{.dtype = GetParam()};
          const auto linear = Linear::create(l.weight, bias ? l.bias : Tensor(), GetParam());
          const Tensor y = linear->forward(context, to_dtype(x, GetParam()), {activation, residual ? &fast_r : nullptr});
          ASSERT_EQ(y.dtype(), GetParam());
          const Tensor want = reference::linear(x, l.weight, bias ? l.bias : Tensor(), {activation, residual ? &r : nullptr});
          ASSERT_EQ(y.shape(), want.shape());
          EXPECT_LE(max_error(y, want), bound()) << c.rows << "x" << c.in << "x" << c.out << " activation " << static_cast<int>(activation);
        }
      }
    }
  }
}

TEST_P(WeightsTest, ConvolutionEqualsTheReferenceForAllShapesAndEpilogues) {
  struct Case {
    int64_t n, h, w, in, out, k;
    ConvGeometry geometry;
  };
  const ConvGeometry same = ConvGeometry::same3x3();
  const ConvGeometry half{2, 1, 1, 1, 1}, lopsided{2, 0, 0, 1, 1}, valid{1, 0, 0, 0, 0};
  for (const Case& c : {Case{1, 8, 8, 4, 32, 3, same}, Case{2, 8, 6, 32, 4, 3, same}, Case{1, 9, 7, 3, 16, 3, lopsided},
                        Case{2, 8, 8, 64, 64, 3, half}, Case{1, 1, 1, 5, 7, 3, same}, Case{1, 5, 5, 40, 24, 1, valid}, Case{1, 6, 6, 8, 8, 1, half},
                        Case{3, 16, 16, 1, 1, 3, same}, Case{1, 14, 14, 3, 9, 14, ConvGeometry{14, 0, 0, 0, 0}}, Case{2, 3, 5, 512, 128, 3, same},
                        Case{2, 8, 6, 256, 256, 3, half}, Case{1, 2, 2, 1024, 64, 3, lopsided}}) {
    const Layer l = layer({c.out, c.in, c.k, c.k}, GetParam(), 11);
    const auto conv = Conv2d::create(l.weight, l.bias, c.geometry, GetParam());
    for (const Activation activation : kActivations) {
      if (c.h * c.w * l.weight.num_elements() > 1000000 && activation != Activation::silu) continue;
      for (const bool residual : {false, true}) {
        const Tensor x = rounded(random_tensor({c.n, c.h, c.w, c.in}, 3), GetParam());
        Tensor want = reference::conv2d(x, l.weight, l.bias, c.geometry, {activation, nullptr});
        const Tensor r = rounded(random_tensor(want.shape(), 4), GetParam());
        if (residual) want = reference::conv2d(x, l.weight, l.bias, c.geometry, {activation, &r});
        const Tensor fast_r = to_dtype(r, GetParam());
        Context context{.dtype = GetParam()};
        const Tensor y = conv->forward(context, to_dtype(x, GetParam()), {activation, residual ? &fast_r : nullptr});
        ASSERT_EQ(y.shape(), want.shape());
        EXPECT_LE(max_error(y, want), bound()) << x.shape().to_string() << " -> " << want.shape().to_string() << " activation "
                                               << static_cast<int>(activation);
      }
    }
  }
}

TEST_P(WeightsTest, OneLayerServesManyShapesInTurn) {
  const Layer l = layer({96, 64}, GetParam(), 5);
  const auto linear = Linear::create(l.weight, l.bias, GetParam());
  for (const int64_t rows : {1, 300, 2, 77, 4096, 1, 154, 16, 17, 18, 19, 20, 300}) {
    Context context{.dtype = GetParam()};
    const Tensor x = rounded(random_tensor({rows, 64}, static_cast<uint32_t>(rows)), GetParam());
    EXPECT_LE(max_error(linear->forward(context, to_dtype(x, GetParam())), reference::linear(x, l.weight, l.bias, {})), bound()) << rows;
  }
}

TEST_P(WeightsTest, OneConvolutionServesSmallAndLargeImagesInTurn) {
  const Layer l = layer({256, 256, 3, 3}, GetParam(), 5);
  const auto conv = Conv2d::create(l.weight, l.bias, ConvGeometry::same3x3(), GetParam());
  for (const int64_t side : {4, 9, 2, 9, 1, 4}) {
    Context context{.dtype = GetParam()};
    const Tensor x = rounded(random_tensor({1, side, side, 256}, static_cast<uint32_t>(side)), GetParam());
    EXPECT_LE(max_error(conv->forward(context, to_dtype(x, GetParam())), reference::conv2d(x, l.weight, l.bias, ConvGeometry::same3x3(), {})),
              bound())
        << side;
  }
}

TEST_P(WeightsTest, ThreadsMayShareALayer) {
  const Layer l = layer({64, 64, 3, 3}, GetParam(), 5);
  const auto conv = Conv2d::create(l.weight, l.bias, ConvGeometry::same3x3(), GetParam());
  std::vector<double> errors(4, 1.0);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < errors.size(); ++i) {
    threads.emplace_back([&, i] {
      Context context{.dtype = GetParam()};
      const Tensor x = rounded(random_tensor({1, 4 + static_cast<int64_t>(i % 2), 4, 64}, 3), GetParam());
      const Tensor want = reference::conv2d(x, l.weight, l.bias, ConvGeometry::same3x3(), {});
      for (int round = 0; round < 3; ++round) errors[i] = max_error(conv->forward(context, to_dtype(x, GetParam())), want);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(errors, testing::Each(testing::Le(bound())));
}

TEST_P(WeightsTest, ALayerRunsInsideOfAParallelLoop) {
  const Layer l = layer({320, 320}, GetParam(), 5);
  const auto linear = Linear::create(l.weight, l.bias, GetParam());
  const Tensor x = rounded(random_tensor({64, 320}, 3), GetParam());
  const Tensor want = reference::linear(x, l.weight, l.bias, {});
  std::vector<double> errors(4, 1.0);
  parallel_for(errors.size(), 1, [&](size_t begin, size_t end) {
    Context context{.dtype = GetParam()};
    for (size_t i = begin; i < end; ++i) errors[i] = max_error(linear->forward(context, to_dtype(x, GetParam())), want);
  });
  EXPECT_THAT(errors, testing::Each(testing::Le(bound())));
}

TEST_P(WeightsTest, ResultsRepeatToTheBit) {
  const Layer l = layer({64, 48, 3, 3}, GetParam(), 5);
  const Tensor x = to_dtype(random_tensor({2, 16, 16, 48}, 3), GetParam());
  Context context{.dtype = GetParam()};
  const Tensor first = Conv2d::create(l.weight, l.bias, ConvGeometry::same3x3(), GetParam())->forward(context, x);
  const Tensor second = Conv2d::create(l.weight, l.bias, ConvGeometry::same3x3(), GetParam())->forward(context, x);
  EXPECT_EQ(std::memcmp(first.bytes(), second.bytes(), first.size_bytes()), 0);
}

TEST_P(WeightsTest, EnlargingConvolutionsEqualThoseOfTheEnlargedPicture) {
  struct Case {
    int64_t n, h, w, in, out;
  };
  for (const Case& c : {Case{1, 1, 1, 8, 8}, Case{2, 5, 3, 16, 24}, Case{1, 8, 8, 64, 64}, Case{2, 4, 4, 256, 256}, Case{1, 2, 7, 4, 1}}) {
    const Layer l = layer({c.out, c.in, 3, 3}, GetParam(), 13);
    const auto conv = Conv2d::create(l.weight, l.bias, ConvGeometry::enlarging3x3(), GetParam());
    const size_t expected = conv->size_bytes();
    const Tensor x = rounded(random_tensor({c.n, c.h, c.w, c.in}, 3), GetParam());
    Context context{.dtype = GetParam()};
    const auto check = [&](int64_t height, int64_t width, const Epilogue& epilogue, const Tensor& residual) {
      const Tensor want = reference::conv2d(reference::upsample_nearest(x, height, width), l.weight, l.bias, ConvGeometry::same3x3(),
                                            {epilogue.activation, &residual});
      const Tensor y = conv->forward(context, ConvInput(to_dtype(x, GetParam()), height, width), epilogue);
      ASSERT_EQ(y.shape(), want.shape());
      EXPECT_LE(max_error(y, want), bound()) << x.shape().to_string() << " -> " << want.shape().to_string();
    };
    const Tensor residual = rounded(random_tensor({c.n, 2 * c.h, 2 * c.w, c.out}, 4), GetParam()), fast = to_dtype(residual, GetParam());
    const Tensor none = Tensor::zeros(residual.shape(), DType::f32);
    check(2 * c.h, 2 * c.w, {}, none);
    check(2 * c.h, 2 * c.w, {Activation::silu, &fast}, residual);
    EXPECT_EQ(conv->size_bytes(), expected);
    // Other sizes, and a picture that needs none.
    for (const auto& [height, width] : {std::pair{2 * c.h + 1, 2 * c.w}, std::pair{2 * c.h - 1, 2 * c.w - 1}, std::pair{c.h, c.w}}) {
      check(height, width, {}, Tensor::zeros({c.n, height, width, c.out}, DType::f32));
    }
    EXPECT_LE(max_error(conv->forward(context, to_dtype(x, GetParam())), reference::conv2d(x, l.weight, l.bias, ConvGeometry::same3x3(), {})),
              bound());
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, WeightsTest, testing::Values(DType::f32, DType::bf16),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST(Weights, EverySourceDtypeAndAnUnalignedMappingIsAccepted) {
  const Layer l = layer({24, 40}, DType::f32, 5);
  const Tensor x = random_tensor({6, 40}, 3);
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2}) {
    const Tensor stored = to_dtype(l.weight, dtype);
    auto shifted = std::make_shared<std::vector<std::byte>>(stored.size_bytes() + 1);
    std::memcpy(shifted->data() + 1, stored.bytes(), stored.size_bytes());
    const Tensor unaligned = Tensor::view(stored.shape(), dtype, shifted->data() + 1, shifted);
    const Tensor want = reference::linear(x, to_dtype(stored, DType::f32), l.bias, {});
    Context context;
    EXPECT_LE(max_error(Linear::create(stored, l.bias, DType::f32)->forward(context, x), want), 1e-5) << to_string(dtype);
    EXPECT_LE(max_error(Linear::create(unaligned, l.bias, DType::f32)->forward(context, x), want), 1e-5) << to_string(dtype);
  }
}

TEST(Weights, AnEnlargingConvolutionCountsWhatItHasMade) {
  const Layer l = layer({64, 32, 3, 3}, DType::f32, 13);
  const Tensor in_file = Tensor::view(l.weight.shape(), DType::f32, l.weight.bytes(), std::make_shared<Tensor>(l.weight));
  const auto of = [](const Tensor& weight, const ConvGeometry& geometry) { return Conv2d::create(weight, {}, geometry, DType::f32); };
  const auto plain = of(in_file, ConvGeometry::same3x3()), odd = of(in_file, ConvGeometry::enlarging3x3());
  const size_t kernels = odd->size_bytes();
  const Tensor x = random_tensor({1, 4, 4, 32}, 3);
  Context context;
  (void)plain->forward(context, x);
  (void)odd->forward(context, {x, 7, 8});
  EXPECT_EQ(odd->size_bytes(), plain->size_bytes()) << "no kernels for doubled pictures yet";
  (void)odd->forward(context, {x, 8, 8});
  EXPECT_EQ(odd->size_bytes(), plain->size_bytes() + kernels);
  EXPECT_EQ(of(l.weight, ConvGeometry::enlarging3x3())->size_bytes(), kernels + l.weight.size_bytes()) << "a weight of its own stays";
}

TEST(Weights, CompactStorageHalvesTheMemoryAndChangesNoBit) {
  const Layer matrix = layer({96, 64}, DType::f32, 5), kernel = layer({128, 64, 3, 3}, DType::f32, 6);
  for (const DType source : {DType::f16, DType::bf16, DType::f8_e4m3fn, DType::f8_e5m2}) {
    const Tensor stored = to_dtype(matrix.weight, source), taps = to_dtype(kernel.weight, source);
    const auto plain = Linear::create(stored, matrix.bias, DType::f32);
    const auto compact = Linear::create(stored, matrix.bias, DType::f32, WeightStorage::compact);
    const auto plain_conv = Conv2d::create(taps, kernel.bias, ConvGeometry::same3x3(), DType::f32);
    const auto compact_conv = Conv2d::create(taps, kernel.bias, ConvGeometry::same3x3(), DType::f32, WeightStorage::compact);
    const size_t expected = compact->size_bytes(), expected_conv = compact_conv->size_bytes();
    Context context;
    // Shapes that want other layouts, too, and each twice: a first use packs, the second one expands.
    for (const int64_t side : {16, 16, 1, 5, 1, 16}) {
      const Tensor x = random_tensor({1, side, side, 64}, static_cast<uint32_t>(side));
      EXPECT_EQ(max_error(compact->forward(context, x), plain->forward(context, x)), 0) << to_string(source) << " " << side;
      EXPECT_EQ(max_error(compact_conv->forward(context, x), plain_conv->forward(context, x)), 0) << to_string(source) << " " << side;
    }
    EXPECT_EQ(compact->size_bytes(), plain->size_bytes() / 2 + matrix.bias.size_bytes() / 2) << to_string(source);
    EXPECT_EQ(compact->size_bytes(), expected) << to_string(source);
    EXPECT_EQ(compact_conv->size_bytes(), plain_conv->size_bytes() / 2 + kernel.bias.size_bytes() / 2) << to_string(source);
    EXPECT_EQ(compact_conv->size_bytes(), expected_conv) << to_string(source);
  }
}

TEST(Weights, CompactStorageNeverRounds) {
  EXPECT_EQ(kept_dtype(DType::f32, DType::f32, WeightStorage::compact), DType::f32);
  EXPECT_EQ(kept_dtype(DType::f16, DType::f32, WeightStorage::computed), DType::f32);
  EXPECT_EQ(kept_dtype(DType::f16, DType::bf16, WeightStorage::compact), DType::bf16);
  // Scales do not fit into single elements.
  const Tensor scaled = to_dtype(random_tensor({32, 32}, 3), DType::f8_e4m3fn).with_scale(0.3F);
  EXPECT_EQ(kept_dtype(scaled.plain_dtype(), DType::f32, WeightStorage::compact), DType::f32);
  const Tensor x = random_tensor({4, 32}, 4);
  Context context;
  EXPECT_EQ(max_error(Linear::create(scaled, {}, DType::f32, WeightStorage::compact)->forward(context, x),
                      Linear::create(scaled, {}, DType::f32)->forward(context, x)),
            0);
}

TEST(Weights, NoRowsGiveNoRows) {
  Context context;
  const Layer l = layer({8, 4}, DType::f32, 1);
  EXPECT_EQ(Linear::create(l.weight, l.bias, DType::f32)->forward(context, Tensor::empty({0, 4}, DType::f32)).shape(), Shape({0, 8}));
}

TEST(Weights, ShapesThatDoNotFitAreRefused) {
  Context context;
  const Layer l = layer({8, 4}, DType::f32, 1), c = layer({8, 4, 3, 3}, DType::f32, 1);
  EXPECT_THROW(Linear::create(c.weight, {}, DType::f32), Error);
  EXPECT_THROW(Linear::create(l.weight, random_tensor({4}, 1), DType::f32), Error);
  EXPECT_THROW(Linear::create(l.weight, {}, DType::f16), Error);
  EXPECT_THROW(Conv2d::create(l.weight, {}, {}, DType::f32), Error);
  EXPECT_THROW(Conv2d::create(c.weight, {}, ConvGeometry{0, 0, 0, 0, 0}, DType::f32), Error);
  EXPECT_THROW(Conv2d::create(random_tensor({8, 4, 1, 1}, 1), {}, ConvGeometry::enlarging3x3(), DType::f32), Error);
  EXPECT_THROW(Conv2d::create(c.weight, {}, ConvGeometry{2, 1, 1, 1, 1, true}, DType::f32), Error);
  const auto linear = Linear::create(l.weight, l.bias, DType::f32);
  EXPECT_THROW(linear->forward(context, random_tensor({2, 5}, 1)), Error);
  EXPECT_THROW(linear->forward(context, to_dtype(random_tensor({2, 4}, 1), DType::bf16)), Error);
  const Tensor residual = random_tensor({2, 7}, 1);
  EXPECT_THROW(linear->forward(context, random_tensor({2, 4}, 1), {Activation::none, &residual}), Error);
  const auto conv = Conv2d::create(c.weight, c.bias, {}, DType::f32);
  EXPECT_THROW(conv->forward(context, random_tensor({1, 2, 2, 4}, 1)), Error);
  EXPECT_THROW(conv->forward(context, random_tensor({1, 5, 5, 3}, 1)), Error);
}

TEST(Weights, SizeCountsPackedWeightsAndBias) {
  Context context;
  const Layer l = layer({64, 64}, DType::f32, 1);
  const auto linear = Linear::create(l.weight, l.bias, DType::f32);
  EXPECT_GE(linear->size_bytes(), size_t{64 * 64 + 64} * 4);
  (void)linear->forward(context, random_tensor({2, 64}, 1));
  EXPECT_GE(linear->size_bytes(), size_t{64 * 64 + 64} * 4);
}

}  // namespace
}  // namespace veneer::compute
