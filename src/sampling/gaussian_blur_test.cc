#include "sampling/gaussian_blur.h"

#include <gmock/gmock.h>

#include <cmath>

#include "sampling/rng.h"
#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Pointwise;

// The definition: 81 taps, mirrored indices.
std::vector<float> slow_blur(const Tensor& in, double sigma) {
  const auto h = in.dim(2);
  const auto w = in.dim(3);
  const auto mirror = [](int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; };
  double total = 0;
  for (int k = -4; k <= 4; ++k) total += std::exp(-0.5 * k * k / sigma / sigma);
  std::vector<float> out;
  for (int64_t p = 0; p < in.dim(0) * in.dim(1); ++p)
    for (int64_t y = 0; y < h; ++y)
      for (int64_t x = 0; x < w; ++x) {
        double sum = 0;
        for (int64_t i = -4; i <= 4; ++i)
          for (int64_t j = -4; j <= 4; ++j)
            sum += std::exp(-0.5 * static_cast<double>(i * i + j * j) / sigma / sigma) / total / total *
                   static_cast<double>(in.data<float>()[(p * h + mirror(y + i, h)) * w + mirror(x + j, w)]);
        out.push_back(static_cast<float>(sum));
      }
  return out;
}

TEST(GaussianBlur, AgreesWithTheDefinition) {
  TorchGenerator generator(1);
  for (const Shape& shape : {Shape{2, 3, 5, 9}, Shape{1, 1, 12, 6}}) {
    const Tensor in = randn(shape, generator);
    for (const double sigma : {0.4, 2.0, 10.0}) {
      EXPECT_THAT(values(gaussian_blur(in, sigma)), Pointwise(FloatNear(1e-5F), slow_blur(in, sigma))) << sigma;
    }
  }
}

TEST(GaussianBlur, LeavesAConstantAndABlurOfNoWidthAsTheyAre) {
  EXPECT_THAT(values(gaussian_blur(filled(Shape{1, 2, 5, 7}, 3), 2)), Each(FloatNear(3, 1e-5F)));
  const Tensor in = counting(Shape{1, 1, 5, 5});
  EXPECT_EQ(values(gaussian_blur(in, 0)), values(in));
}

TEST(GaussianBlur, RefusesWhatIsTooSmallToMirrorAndNoLength) {
  EXPECT_THROW(gaussian_blur(counting(Shape{1, 1, 4, 9}), 1), Error);
  EXPECT_THROW(gaussian_blur(counting(Shape{1, 1, 9, 4}), 1), Error);
  EXPECT_THROW(gaussian_blur(counting(Shape{1, 1, 9, 9}), -1), Error);
  EXPECT_THROW(gaussian_blur(counting(Shape{1, 1, 9, 9}), std::nan("")), Error);
}

}  // namespace
}  // namespace veneer::sampling
