#include "sampling/image_ops.h"

#include <gmock/gmock.h>

#include "sampling/test_network.h"
#include "veneer/error.h"

namespace veneer::sampling {
namespace {

using ::testing::ElementsAre;

TEST(ImageOps, AMissingSideFollowsTheAspectRatio) {
  const Tensor in = filled(Shape{1, 2, 4, 3}, 0.5F);
  EXPECT_EQ(scale_image(in, 0, 5, ResampleMethod::area, Crop::disabled).shape(), (Shape{1, 5, 10, 3}));
  EXPECT_EQ(scale_image(in, 2, 0, ResampleMethod::area, Crop::disabled).shape(), (Shape{1, 1, 2, 3}));
  EXPECT_EQ(scale_image(in, 0, 0, ResampleMethod::area, Crop::disabled).shape(), in.shape());
  EXPECT_THROW(scale_image(in, -1, 4, ResampleMethod::area, Crop::disabled), Error);
}

TEST(ImageOps, ScalesChannelsOnTheirOwn) {
  const Tensor in = Tensor::from(Shape{1, 1, 2, 2}, std::vector<float>{0, 10, 4, 50});
  EXPECT_THAT(values(scale_image_by(in, 2.0, ResampleMethod::nearest_exact)), ElementsAre(0, 10, 0, 10, 4, 50, 4, 50, 0, 10, 0, 10, 4, 50, 4, 50));
}

TEST(ImageOps, TotalPixelsKeepTheAspectRatio) {
  EXPECT_EQ(scale_image_to_total_pixels(filled(Shape{1, 512, 128, 1}, 0), 0.0625 / 4, ResampleMethod::area).shape(), (Shape{1, 256, 64, 1}));
}

TEST(ImageOps, BatchesFitTheSecondAndItsAlpha) {
  const Tensor out = batch_images(filled(Shape{1, 2, 2, 4}, 0.25F), filled(Shape{2, 4, 4, 3}, 0.5F));
  EXPECT_EQ(out.shape(), (Shape{3, 2, 2, 4}));
  EXPECT_EQ(out.floats()[19], 1.0F);
  EXPECT_THROW(batch_images(filled(Shape{1, 2, 2, 1}, 0), filled(Shape{1, 2, 2, 3}, 0)), Error);
}

TEST(ImageOps, CropStaysInside) {
  const Tensor in = counting(Shape{1, 2, 3, 1});
  EXPECT_THAT(values(crop_image(in, Box{1, 1, 9, 9})), ElementsAre(4, 5));
  EXPECT_THAT(values(crop_image(in, Box{7, 7, 1, 1})), ElementsAre(5));
  EXPECT_THROW(crop_image(in, Box{0, 0, 0, 1}), Error);
}

TEST(ImageOps, CompositesFollowTheDestinationsChannels) {
  const Tensor rgb = filled(Shape{1, 1, 1, 3}, 0);
  const Tensor rgba = filled(Shape{1, 1, 1, 4}, 0.5F);
  EXPECT_THAT(values(composite_images(rgb, rgba, Tensor(), {})), ElementsAre(0.5, 0.5, 0.5));
  EXPECT_THAT(values(composite_images(rgba, rgb, Tensor(), {})), ElementsAre(0, 0, 0, 1));
}

TEST(ImageOps, PadsWithGreyAndMarksTheBorder) {
  const PaddedImage out = pad_for_outpaint(filled(Shape{1, 2, 2, 1}, 0), {.left = 1, .bottom = 1}, 0);
  EXPECT_THAT(values(out.image), ElementsAre(0.5, 0, 0, 0.5, 0, 0, 0.5, 0.5, 0.5));
  EXPECT_THAT(values(out.mask), ElementsAre(1, 0, 0, 1, 0, 0, 1, 1, 1));
  EXPECT_THROW(pad_for_outpaint(filled(Shape{1, 2, 2, 1}, 0), {.left = INT64_MAX}, 0), Error);
}

TEST(ImageOps, TheFeatheredBorderFallsQuadratically) {
  const PaddedImage out = pad_for_outpaint(filled(Shape{1, 5, 5, 1}, 0), {.left = 1}, 2);
  EXPECT_THAT(std::vector<float>(out.mask.floats().begin(), out.mask.floats().begin() + 6), ElementsAre(1, 1, 0.25, 0, 0, 0));
  EXPECT_EQ(pad_for_outpaint(filled(Shape{1, 4, 4, 1}, 0), {.left = 1}, 2).mask.floats()[1], 0);  // would reach the middle
}

TEST(ImageOps, SolidAndInverted) {
  EXPECT_THAT(values(invert_image(solid_image(1, 1, 1, 0xFF0033))), ElementsAre(0, 1, 0.8F));
  EXPECT_THROW(solid_image(0, 1, 1, 0), Error);
  EXPECT_THROW(invert_image(Tensor()), Error);
  EXPECT_THROW(invert_image(filled(Shape{1, 0, 1, 3}, 0)), Error);
}

}  // namespace
}  // namespace veneer::sampling
