#include "nodes/options/free_u.h"

#include <gmock/gmock.h>

#include <complex>
#include <numbers>

#include "compute/test_data.h"

namespace veneer::nodes {
namespace {

using compute::random_tensor;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::Pointwise;

std::vector<float> values(const Tensor& tensor) { return {tensor.floats().begin(), tensor.floats().end()}; }

// The definition: a discrete Fourier transform of each plane, the zero frequency moved to the middle [H / 2, W / 2], the rows from one above the
// middle up to it and the columns likewise scaled, and the way back.
std::vector<float> slow_filter(const Tensor& in, double scale) {
  const int64_t h = in.dim(1);
  const int64_t w = in.dim(2);
  const auto turn = [](double t) { return std::polar(1.0, 2 * std::numbers::pi * t); };
  std::vector<float> out(in.floats().size());
  for (int64_t plane = 0; plane < in.dim(0) * in.dim(3); ++plane) {
    const auto at = [&](int64_t y, int64_t x) { return static_cast<size_t>(((plane / in.dim(3) * h + y) * w + x) * in.dim(3) + plane % in.dim(3)); };
    std::vector<std::complex<double>> spectrum(static_cast<size_t>(h * w));
    for (int64_t v = 0; v < h; ++v)
      for (int64_t u = 0; u < w; ++u) {
        std::complex<double> sum = 0;
        for (int64_t y = 0; y < h; ++y)
          for (int64_t x = 0; x < w; ++x)
            sum += static_cast<double>(in.floats()[at(y, x)]) *
                   turn(-static_cast<double>(v * y) / static_cast<double>(h) - static_cast<double>(u * x) / static_cast<double>(w));
        const int64_t row = (v + h / 2) % h;
        const int64_t column = (u + w / 2) % w;
        const bool low = row >= h / 2 - 1 && row < h / 2 + 1 && column >= w / 2 - 1 && column < w / 2 + 1;
        spectrum[static_cast<size_t>(v * w + u)] = sum * (low ? scale : 1.0);
      }
    for (int64_t y = 0; y < h; ++y)
      for (int64_t x = 0; x < w; ++x) {
        std::complex<double> sum = 0;
        for (int64_t v = 0; v < h; ++v)
          for (int64_t u = 0; u < w; ++u)
            sum += spectrum[static_cast<size_t>(v * w + u)] *
                   turn(static_cast<double>(v * y) / static_cast<double>(h) + static_cast<double>(u * x) / static_cast<double>(w));
        out[at(y, x)] = static_cast<float>(sum.real() / static_cast<double>(h * w));
      }
  }
  return out;
}

TEST(FreeU, FiltersAsTheFourierTransformDoes) {
  for (const Shape& shape : {Shape{1, 8, 8, 3}, Shape{2, 5, 7, 2}, Shape{1, 6, 5, 1}, Shape{1, 2, 2, 1}, Shape{1, 1, 4, 1}, Shape{1, 3, 1, 1},
                             Shape{1, 1, 1, 2}, Shape{1, 4, 3, 70}}) {
    const Tensor in = random_tensor(shape, 7);
    for (const double scale : {0.2, 1.0, 3.0}) {
      EXPECT_THAT(values(scale_low_frequencies(in, static_cast<float>(scale))), Pointwise(FloatNear(2e-6F), slow_filter(in, scale)))
          << shape.to_string() << " " << scale;
    }
  }
}

TEST(FreeU, WeakensAPlaneThatIsConstantByTheWholeFactor) {
  EXPECT_THAT(values(scale_low_frequencies(Tensor::from(Shape{1, 2, 2, 1}, std::vector<float>{4, 4, 4, 4}), 0.25F)), ElementsAre(1, 1, 1, 1));
}

TEST(FreeU, ScalesTheFirstHalfOfTheChannels) {
  const Tensor h = Tensor::from(Shape{1, 1, 2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_THAT(values(scale_features(h, 10, FreeUVersion::v1)), ElementsAre(10, 2, 3, 40, 5, 6));
  EXPECT_THAT(values(h), ElementsAre(1, 2, 3, 4, 5, 6));
}

// Means 1, 2 and 5: factors 1, 1 + 2 * 1/4 and 1 + 2; each picture has its own range.
TEST(FreeU, ScalesByTheMeanOverTheChannelsInTheSecondVersion) {
  const Tensor h = Tensor::from(Shape{2, 1, 3, 2}, std::vector<float>{0, 2, 4, 0, 5, 5, 100, 0, 200, 0, 300, 0});
  EXPECT_THAT(values(scale_features(h, 3, FreeUVersion::v2)), ElementsAre(0, 2, 6, 0, 15, 5, 100, 0, 400, 0, 900, 0));
}

TEST(FreeU, LeavesFeaturesOfOneMeanAsTheyAreInTheSecondVersion) {
  const Tensor h = Tensor::from(Shape{1, 1, 2, 2}, std::vector<float>{1, 3, 4, 0});
  EXPECT_THAT(values(scale_features(h, 3, FreeUVersion::v2)), ElementsAre(1, 3, 4, 0));
}

TEST(FreeU, TakesTheFactorsByTheWidthOfTheFeatures) {
  const auto patch = free_u(FreeUVersion::v1, {.b1 = 2, .b2 = 3, .s1 = 0, .s2 = 0.5}, 1);
  const auto run = [&](int64_t channels) {
    Tensor h = Tensor::empty(Shape{1, 1, 1, channels}, DType::f32);
    std::ranges::fill(h.mutable_floats(), 1.0F);
    const variant::BlockAndSkip out = patch.fn({h, Tensor::from(Shape{1, 1, 1, 1}, std::vector<float>{8})}, {});
    return std::vector<float>{out.h.floats().front(), out.h.floats().back(), out.skip.floats().front()};
  };
  EXPECT_THAT(run(4), ElementsAre(2, 1, 0));
  EXPECT_THAT(run(2), ElementsAre(3, 1, 4));
  EXPECT_THAT(run(1), ElementsAre(1, 1, 8));
  EXPECT_THAT(run(8), ElementsAre(1, 1, 8));
}

TEST(FreeU, IsAnotherForEveryParameter) {
  const FreeUScales scales{1.1, 1.2, 0.9, 0.2};
  const Fingerprint id = free_u(FreeUVersion::v1, scales, 320).id;
  EXPECT_EQ(free_u(FreeUVersion::v1, scales, 320).id, id);
  EXPECT_NE(free_u(FreeUVersion::v2, scales, 320).id, id);
  EXPECT_NE(free_u(FreeUVersion::v1, scales, 64).id, id);
  for (double FreeUScales::*member : {&FreeUScales::b1, &FreeUScales::b2, &FreeUScales::s1, &FreeUScales::s2}) {
    FreeUScales other = scales;
    other.*member += 0.01;
    EXPECT_NE(free_u(FreeUVersion::v1, other, 320).id, id);
  }
}

}  // namespace
}  // namespace veneer::nodes
