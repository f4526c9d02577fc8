#include "nodes/image_stitch.h"

#include <gtest/gtest.h>

#include <array>

#include "veneer/error.h"

namespace veneer::nodes {
namespace {

Tensor picture(int64_t count, int64_t height, int64_t width, int64_t channels, float value) {
  Tensor out = Tensor::empty({count, height, width, channels}, DType::f32);
  for (float& v : out.mutable_floats()) v = value;
  return out;
}

float at(const Tensor& image, int64_t n, int64_t y, int64_t x, int64_t c) {
  return image.data<float>()[((n * image.dim(1) + y) * image.dim(2) + x) * image.dim(3) + c];
}

StitchOptions plain(const std::string& direction) { return {.direction = direction, .match_size = false, .spacing = 0, .spacing_color = "white"}; }

TEST(StitchImages, PlacesTheSecondWhereTheDirectionSays) {
  const Tensor a = picture(1, 2, 3, 3, 0.25F);
  const Tensor b = picture(1, 2, 3, 3, 0.75F);
  const struct {
    const char* direction;
    Shape shape;
    float first, last;
  } cases[] = {{"right", {1, 2, 6, 3}, 0.25F, 0.75F},
               {"left", {1, 2, 6, 3}, 0.75F, 0.25F},
               {"down", {1, 4, 3, 3}, 0.25F, 0.75F},
               {"up", {1, 4, 3, 3}, 0.75F, 0.25F}};
  for (const auto& test : cases) {
    const Tensor out = stitch_images(a, b, plain(test.direction));
    EXPECT_EQ(out.shape(), test.shape) << test.direction;
    EXPECT_EQ(out.floats().front(), test.first) << test.direction;
    EXPECT_EQ(out.floats().back(), test.last) << test.direction;
  }
}

TEST(StitchImages, PadsTheSmallerOneEvenlyWithBlack) {
  const Tensor out = stitch_images(picture(1, 4, 2, 3, 1), picture(1, 2, 2, 3, 0.5F), plain("right"));
  ASSERT_EQ(out.shape(), Shape({1, 4, 4, 3}));
  const std::array<float, 4> column = {at(out, 0, 0, 2, 0), at(out, 0, 1, 2, 0), at(out, 0, 2, 2, 0), at(out, 0, 3, 2, 0)};
  EXPECT_EQ(column, (std::array<float, 4>{0, 0.5F, 0.5F, 0}));
}

TEST(StitchImages, ScalesTheSecondToTheFirstsHeightOrWidth) {
  StitchOptions options;
  EXPECT_EQ(stitch_images(picture(1, 8, 4, 3, 0), picture(1, 4, 4, 3, 1), options).shape(), Shape({1, 8, 12, 3}));
  options.direction = "down";
  EXPECT_EQ(stitch_images(picture(1, 4, 8, 3, 0), picture(1, 4, 4, 3, 1), options).shape(), Shape({1, 12, 8, 3}));
}

TEST(StitchImages, FillsAnEvenGapWithTheColour) {
  StitchOptions options = plain("right");
  options.spacing = 3;
  options.spacing_color = "red";
  const Tensor out = stitch_images(picture(1, 2, 2, 3, 0), picture(1, 2, 2, 3, 0), options);
  ASSERT_EQ(out.shape(), Shape({1, 2, 8, 3}));
  EXPECT_EQ(at(out, 0, 1, 1, 0), 0);
  for (int64_t x = 2; x < 6; ++x) {
    EXPECT_EQ(at(out, 0, 1, x, 0), 1) << x;
    EXPECT_EQ(at(out, 0, 1, x, 1), 0) << x;
  }
  EXPECT_EQ(at(out, 0, 1, 6, 0), 0);
}

TEST(StitchImages, RepeatsTheLastPictureOfAShorterBatchAndAddsAlpha) {
  const Tensor out = stitch_images(picture(2, 1, 1, 4, 0.5F), picture(1, 1, 1, 3, 0.25F), plain("right"));
  ASSERT_EQ(out.shape(), Shape({2, 1, 2, 4}));
  EXPECT_EQ(at(out, 1, 0, 1, 0), 0.25F);
  EXPECT_EQ(at(out, 1, 0, 1, 3), 1);
}

TEST(StitchImages, RefusesWhatIsNoPicture) {
  EXPECT_THROW(stitch_images(Tensor::zeros({2, 2, 3}, DType::f32), picture(1, 2, 2, 3, 0), {}), Error);
  EXPECT_THROW(stitch_images(picture(1, 2, 2, 3, 0), picture(1, 2, 2, 5, 0), {}), Error);
}

}  // namespace
}  // namespace veneer::nodes
