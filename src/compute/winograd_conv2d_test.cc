#include "compute/winograd_conv2d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/parallel.h"
#include "compute/block_cache.h"
#include "compute/kernel_isa.h"
#include "compute/reference/reference.h"
#include "compute/test_data.h"
#include "compute/weights.h"
#include "compute/winograd_kernels.h"
#include "tensor/convert.h"
#include "veneer/error.h"

namespace veneer::compute {
namespace {

using winograd::convolve;
using winograd::Layer;
using winograd::wins;

Layer layer_of(const Tensor& weight, const ConvGeometry& geometry) { return {weight.dim(1), weight.dim(0), weight.dim(2), weight.dim(3), geometry}; }

Tensor random_weight(int64_t out, int64_t in, int64_t taps, uint32_t seed) {
  return random_tensor({out, in, taps, taps}, seed, 1.0F / std::sqrt(static_cast<float>(in * taps * taps)));
}

// [out, in, kh, kw] -> [out / 64][kh][kw][in][64]
Tensor in_blocks(const Tensor& weight) {
  const int64_t out = weight.dim(0), in = weight.dim(1), taps = weight.dim(2) * weight.dim(3);
  Tensor to = Tensor::empty({out / 64, taps, in, 64}, DType::f32);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t t = 0; t < taps; ++t) {
        to.mutable_data<float>()[((o / 64 * taps + t) * in + i) * 64 + o % 64] = weight.data<float>()[(o * in + i) * taps + t];
      }
    }
  }
  return to;
}

Shape result_shape(const Tensor& x, const Tensor& weight, const ConvGeometry& g) {
  return {x.dim(0), x.dim(1) + g.pad_top + g.pad_bottom - weight.dim(2) + 1, x.dim(2) + g.pad_left + g.pad_right - weight.dim(3) + 1, weight.dim(0)};
}

// Filled with what no result is, so that places that nobody writes show.
Tensor convolved(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvGeometry& geometry, const Epilogue& epilogue = {}) {
  Context context;
  Tensor y = Tensor::empty(result_shape(x, weight, geometry), DType::f32);
  for (float& value : y.mutable_floats()) value = 1e30F;
  convolve(context, layer_of(weight, geometry), x, in_blocks(weight), bias, epilogue, y);
  return y;
}

bool same_bits(const Tensor& a, const Tensor& b) { return a.shape() == b.shape() && std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0; }

constexpr ConvGeometry kUpLeft{1, 1, 1, 0, 0}, kDownRight{1, 0, 0, 1, 1}, kNoBorder{1, 0, 0, 0, 0}, kWide{1, 3, 2, 0, 4};

TEST(Winograd, EqualsTheReferenceForOddSizesBordersAndBatches) {
  struct Case {
    int64_t n, h, w, in, out, taps;
    ConvGeometry geometry;
  };
  const ConvGeometry same = ConvGeometry::same3x3();
  for (const Case& c :
       {Case{1, 8, 8, 64, 64, 3, same}, Case{2, 7, 9, 64, 128, 3, same}, Case{3, 1, 5, 64, 64, 3, same}, Case{1, 2, 1, 128, 64, 3, same},
        Case{1, 6, 5, 64, 64, 3, kNoBorder}, Case{2, 4, 3, 64, 64, 3, kWide}, Case{1, 9, 7, 64, 64, 2, kUpLeft},
        Case{2, 8, 10, 64, 64, 2, kDownRight}, Case{1, 1, 1, 64, 64, 2, kUpLeft}, Case{1, 7, 7, 64, 64, 2, kNoBorder},
        // More tiles than a chunk takes, and one more than two.
        Case{1, 24, 25, 64, 64, 3, same}, Case{1, 514, 2, 64, 64, 3, same}}) {
    const Tensor x = random_tensor({c.n, c.h, c.w, c.in}, 3), weight = random_weight(c.out, c.in, c.taps, 4), bias = random_tensor({c.out}, 5);
    EXPECT_LE(max_error(convolved(x, weight, bias, c.geometry), reference::conv2d(x, weight, bias, c.geometry, {})), 1e-5)
        << x.shape().to_string() << " -> " << c.out << ", " << c.taps;
  }
}

TEST(Winograd, AppliesEveryEpilogue) {
  for (const int64_t taps : {3, 2}) {
    const ConvGeometry geometry = taps == 3 ? ConvGeometry::same3x3() : kUpLeft;
    const Tensor x = random_tensor({2, 5, 4, 64}, 3), weight = random_weight(64, 64, taps, 4), bias = random_tensor({64}, 5);
    const Tensor residual = random_tensor({2, 5, 4, 64}, 6);
    for (const Activation activation : {Activation::none, Activation::silu, Activation::gelu, Activation::quick_gelu}) {
      for (const Tensor* added : {static_cast<const Tensor*>(nullptr), &residual}) {
        for (const Tensor& shift : {Tensor(), bias}) {
          const Epilogue epilogue{activation, added};
          EXPECT_LE(max_error(convolved(x, weight, shift, geometry, epilogue), reference::conv2d(x, weight, shift, geometry, epilogue)), 1e-5)
              << taps << " activation " << static_cast<int>(activation);
        }
      }
    }
  }
}

TEST(Winograd, EveryInstructionSetComputesTheSameUpToRounding) {
  const Tensor x = random_tensor({1, 9, 8, 64}, 3), weight = random_weight(64, 64, 3, 4), bias = random_tensor({64}, 5);
  const Tensor want = reference::conv2d(x, weight, bias, ConvGeometry::same3x3(), {Activation::silu, nullptr});
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    EXPECT_LE(max_error(convolved(x, weight, bias, ConvGeometry::same3x3(), {Activation::silu, nullptr}), want), 1e-5) << isa;
  }
}

TEST(Winograd, BitsDependNeitherOnThreadsNorOnTheRestOfTheBatch) {
  const ConvGeometry same = ConvGeometry::same3x3();
  // Four chunks: one thread, or two, take some each, more share them.
  const Tensor x = random_tensor({3, 23, 25, 128}, 3), weight = random_weight(192, 128, 3, 4), bias = random_tensor({192}, 5);
  const Tensor want = convolved(x, weight, bias, same);
  for (const int threads : {1, 2, 3, 16}) {
    set_num_threads(threads);
    EXPECT_TRUE(same_bits(convolved(x, weight, bias, same), want)) << threads;
  }
  set_num_threads(0);
  for (int64_t picture = 0; picture < x.dim(0); ++picture) {
    EXPECT_TRUE(same_bits(convolved(x.slice(picture, 1), weight, bias, same), want.slice(picture, 1))) << picture;
  }
}

TEST(Winograd, WeightsOfSixteenBitsGiveTheBitsOfTheirValues) {
  Tensor weight = random_weight(64, 64, 3, 4);
  // Subnormal in f16, on both sides of zero, and the largest that there is.
  const float awkward[] = {6e-8F, -5.9e-5F, 65504.0F, 0.0F, -0.0F};
  std::memcpy(weight.mutable_bytes(), &awkward[0], sizeof awkward);
  const Tensor x = random_tensor({1, 6, 6, 64}, 3);
  const ConvGeometry same = ConvGeometry::same3x3();
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Tensor narrow = to_dtype(in_blocks(weight), dtype), wide = to_dtype(narrow, DType::f32);
    for (const std::string_view isa : runnable_kernel_isas()) {
      const KernelIsaGuard guard(isa);
      Context context;
      Tensor from_narrow = Tensor::empty({1, 6, 6, 64}, DType::f32), from_wide = from_narrow.clone();
      convolve(context, layer_of(weight, same), x, narrow, Tensor(), {}, from_narrow);
      convolve(context, layer_of(weight, same), x, wide, Tensor(), {}, from_wide);
      EXPECT_TRUE(same_bits(from_narrow, from_wide)) << to_string(dtype) << " " << isa;
    }
  }
}

TEST(Winograd, InfinitiesInWeightsOfSixteenBitsStayInfinite) {
  Tensor weight = Tensor::zeros({64, 64, 3, 3}, DType::f32);
  weight.mutable_data<float>()[0] = std::numeric_limits<float>::infinity();
  const Tensor narrow = to_dtype(in_blocks(weight), DType::f16), x = random_tensor({1, 6, 6, 64}, 3);
  for (const std::string_view isa : runnable_kernel_isas()) {
    const KernelIsaGuard guard(isa);
    Context context;
    Tensor y = Tensor::zeros({1, 6, 6, 64}, DType::f32);
    convolve(context, layer_of(weight, ConvGeometry::same3x3()), x, narrow, Tensor(), {}, y);
    EXPECT_FALSE(std::isfinite(y.data<float>()[0])) << isa;
  }
}

TEST(Winograd, ScratchMemoryStaysBounded) {
  // 256 chunks of 128 tiles, each of whose transformed input takes 0.5 MB.
  set_num_threads(2);
  BlockCache cache;
  Context context{.scratch = cache};
  const Tensor x = Tensor::zeros({4, 256, 128, 64}, DType::f32), weight = Tensor::zeros({64, 64, 3, 3}, DType::f32);
  Tensor y = Tensor::empty({4, 256, 128, 64}, DType::f32);
  convolve(context, layer_of(weight, ConvGeometry::same3x3()), x, in_blocks(weight), Tensor(), {}, y);
  set_num_threads(0);
  EXPECT_GT(cache.peak_bytes(), 0U);
  EXPECT_LT(cache.peak_bytes(), size_t{8} << 20);
}

TEST(Winograd, WinsWhereItSavesProductsOnly) {
  const ConvGeometry same = ConvGeometry::same3x3();
  EXPECT_TRUE(wins({320, 320, 3, 3, same}, 64, 64));
  EXPECT_TRUE(wins({1280, 1280, 3, 3, same}, 16, 16));
  EXPECT_TRUE(wins({128, 128, 3, 3, same}, 512, 512));
  EXPECT_TRUE(wins({512, 512, 2, 2, kUpLeft}, 64, 64));
  EXPECT_FALSE(wins({1280, 1280, 3, 3, same}, 4, 4)) << "too few tiles for the weights";
  EXPECT_FALSE(wins({320, 320, 3, 3, same}, 1, 4096)) << "tiles half empty";
  EXPECT_FALSE(wins({4, 320, 3, 3, same}, 64, 64));
  EXPECT_FALSE(wins({320, 4, 3, 3, same}, 64, 64));
  EXPECT_FALSE(wins({320, 320, 3, 3, ConvGeometry{2, 1, 1, 1, 1}}, 64, 64));
  EXPECT_FALSE(wins({320, 320, 3, 3, ConvGeometry::enlarging3x3()}, 64, 64));
  EXPECT_FALSE(wins({320, 320, 3, 2, same}, 64, 64));
  EXPECT_FALSE(wins({320, 320, 5, 5, ConvGeometry{1, 2, 2, 2, 2}}, 64, 64));
  EXPECT_FALSE(wins({320, 320, 3, 3, same}, 0, 64));
}

TEST(Winograd, ALayerUsesItForWhatItWinsAndGoesOnServingOtherSizes) {
  const ConvGeometry same = ConvGeometry::same3x3();
  const Tensor weight = random_weight(64, 64, 3, 4), bias = random_tensor({64}, 5);
  const auto layer = Conv2d::create(weight, bias, same, DType::f32);
  const size_t expected = layer->size_bytes();
  Context context{.operations = make_operation_cache()};
  for (const int64_t side : {3, 16, 2, 16, 40, 3}) {
    const Tensor x = random_tensor({2, side, side, 64}, static_cast<uint32_t>(side)), y = layer->forward(context, x);
    EXPECT_LE(max_error(y, reference::conv2d(x, weight, bias, same, {})), 1e-5) << side;
    EXPECT_EQ(same_bits(y, convolved(x, weight, bias, same)), wins(layer_of(weight, same), side, side)) << side;
    EXPECT_EQ(layer->size_bytes(), expected) << "keeps what it kept before";
  }
}

TEST(Winograd, ALayerChecksWhatItReadsBeforeItUsesIt) {
  const auto layer = Conv2d::create(random_weight(64, 64, 3, 4), Tensor(), ConvGeometry::same3x3(), DType::f32);
  Context context;
  const Tensor x = random_tensor({1, 16, 16, 64}, 3), other = random_tensor({1, 16, 15, 64}, 3);
  EXPECT_THROW(layer->forward(context, random_tensor({1, 16, 16, 128}, 3)), Error);
  EXPECT_THROW(layer->forward(context, x, {Activation::none, &other}), Error);
  EXPECT_EQ(layer->forward(context, Tensor::empty({0, 16, 16, 64}, DType::f32)).shape(), Shape({0, 16, 16, 64}));
}

}  // namespace
}  // namespace veneer::compute
